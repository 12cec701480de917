/**
 * gRPC's server reflection, versions 1 and 1alpha (the older one is what most clients still ask first): which services there
 * are and their proto files, without a key. It shows what the public OpenAPI document shows; a setting turns it off.
 */
import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { Health } from "../gen/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../gen/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import type { OpenRoutes } from "./routes.ts";

/** A question and its answer, as both versions have them: their messages are alike but for the package. */
interface Question {
  readonly host: string;
  readonly messageRequest:
    | {
        readonly case: "fileByFilename" | "fileContainingSymbol" | "allExtensionNumbersOfType" | "listServices";
        readonly value: string;
      }
    | {
        readonly case: "fileContainingExtension";
        readonly value: { readonly containingType: string; readonly extensionNumber: number };
      }
    | { readonly case: undefined; readonly value?: undefined };
}

type MessageResponse =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

/** Registers reflection over these services, the files that they need included, and over health and itself. */
export function reflectionRoutes(services: readonly DescService[]): OpenRoutes {
  const all = [...services, Health, ServerReflection, ServerReflectionAlpha];
  const answer = createAnswerer(all);
  const reply = <Q extends Question>(question: Q) => ({
    validHost: question.host,
    originalRequest: question,
    messageResponse: answer(question),
  });
  return (router) => {
    router.service(ServerReflection, {
      serverReflectionInfo: async function* (questions) {
        for await (const question of questions) yield reply(question);
      },
    });
    router.service(ServerReflectionAlpha, {
      serverReflectionInfo: async function* (questions) {
        for await (const question of questions) yield reply(question);
      },
    });
  };
}

function createAnswerer(services: readonly DescService[]): (question: Question) => MessageResponse {
  const files = new Map<string, DescFile>();
  for (const service of services) collect(service.file, files);
  const symbols = new Map<string, DescFile>();
  for (const file of files.values()) for (const name of symbolsOf(file)) symbols.set(name, file);
  const extensions = [...files.values()].flatMap((file) => file.extensions.map((extension) => ({ file, extension })));

  return ({ messageRequest: asked }) => {
    switch (asked.case) {
      case "listServices": {
        const service = services.map(({ typeName }) => ({ name: typeName }));
        return { case: "listServicesResponse", value: { service } };
      }
      case "fileByFilename":
        return fileAnswer(files.get(asked.value), asked.value);
      case "fileContainingSymbol":
        return fileAnswer(symbols.get(asked.value), asked.value);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = asked.value;
        const found = extensions.find(
          ({ extension }) => extension.extendee.typeName === containingType && extension.number === extensionNumber,
        );
        return fileAnswer(found?.file, `extension ${extensionNumber} of ${containingType}`);
      }
      case "allExtensionNumbersOfType": {
        const numbers = extensions
          .filter(({ extension }) => extension.extendee.typeName === asked.value)
          .map(({ extension }) => extension.number);
        if (!symbols.has(asked.value)) return notFound(asked.value);
        const value = { baseTypeName: asked.value, extensionNumber: numbers };
        return { case: "allExtensionNumbersResponse", value };
      }
      default:
        return errorAnswer(Code.InvalidArgument, "nothing was asked");
    }
  };
}

/** Each file after those that it imports. */
function collect(file: DescFile, into: Map<string, DescFile>): void {
  if (into.has(file.proto.name)) return;
  for (const dependency of file.dependencies) collect(dependency, into);
  into.set(file.proto.name, file);
}

function* symbolsOf(file: DescFile): Iterable<string> {
  for (const service of file.services) {
    yield service.typeName;
    for (const method of service.methods) yield `${service.typeName}.${method.name}`;
  }
  const messages = [...file.messages];
  for (let message = messages.pop(); message !== undefined; message = messages.pop()) {
    yield message.typeName;
    for (const field of message.fields) yield `${message.typeName}.${field.name}`;
    for (const inner of message.nestedEnums) yield inner.typeName;
    messages.push(...message.nestedMessages);
  }
  for (const one of file.enums) yield one.typeName;
  for (const one of file.extensions) yield one.typeName;
}

/** The file first, then all that it imports, each before its own imports: a client needs one question for a service. */
function fileAnswer(file: DescFile | undefined, name: string): MessageResponse {
  if (file === undefined) return notFound(name);
  const needed = new Map<string, DescFile>();
  collect(file, needed);
  const fileDescriptorProto = [...needed.values()]
    .reverse()
    .map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function notFound(name: string): MessageResponse {
  return errorAnswer(Code.NotFound, `${name} is not known here`);
}

function errorAnswer(errorCode: Code, errorMessage: string): MessageResponse {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
