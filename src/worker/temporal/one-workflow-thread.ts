/**
 * One thread for the workflows of all task queues of a process. Each of the SDK's workers starts
 * another thread, with a copy of the libraries and of the workflows' bundle: 17 MB.
 */

/** The part of the SDK's creator of workflows that its worker uses. */
interface WorkflowCreator {
  createWorkflow(options: unknown): Promise<unknown>;
  destroy(): Promise<void>;
}

/** The static method by which the SDK's worker starts its thread. */
const methodName = "createWorkflowCreator";

/**
 * Returns the class `worker` with the thread of the first worker created by it for all of them.
 * Their bundle and activities must be the same. The thread ends with the last of them.
 */
export function inOneThread<Class extends object>(worker: Class): Class {
  const start: unknown = Reflect.get(worker, methodName);
  if (typeof start !== "function") return worker;
  let thread: Promise<WorkflowCreator> | null = null;
  let users = 0;
  const share = async (...args: readonly unknown[]): Promise<WorkflowCreator> => {
    users += 1;
    thread ??= Promise.resolve(Reflect.apply(start, worker, args) as Promise<WorkflowCreator>);
    const creator = await thread;
    return {
      createWorkflow: (options) => creator.createWorkflow(options),
      destroy: async () => {
        users -= 1;
        if (users > 0) return;
        thread = null;
        await creator.destroy();
      },
    };
  };
  return new Proxy(worker, {
    get: (target, name, receiver) =>
      name === methodName ? share : Reflect.get(target, name, receiver),
  });
}
