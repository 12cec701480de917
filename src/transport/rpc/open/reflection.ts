/**
 * gRPC's server reflection, versions 1 and 1alpha (most clients still try the older one first). It
 * shows services and their proto files without a key, which is no more than the public OpenAPI
 * document. A setting turns it off.
 */
import { setImmediate as nextEvents } from "node:timers/promises";
import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../../gen/proto/google/rpc/error_details_pb.ts";
import { Health } from "../../../gen/proto/grpc/health/v1/health_pb.ts";
import {
  ServerReflection,
  type ServerReflectionRequest,
} from "../../../gen/proto/grpc/reflection/v1/reflection_pb.ts";
import {
  type ServerReflectionRequest as AlphaRequest,
  ServerReflection as ServerReflectionAlpha,
} from "../../../gen/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import { createPlaces } from "../../places.ts";
import { connectionOf, type OpenRoutes } from "../connect/routes.ts";

/** What clients without a key may take of the process by reflection. */
export interface ReflectionLimits {
  readonly inAll: number;
  /** Of one connection. */
  readonly ofOne: number;
  /** Questions of one stream. */
  readonly questions: number;
}

/**
 * A tool opens a stream or two and asks for each service, then for files by name: some dozens of
 * questions. A stream ends with its body, and the port accepts a body for 30 s at most.
 */
const defaultLimits: ReflectionLimits = { inAll: 32, ofOne: 4, questions: 256 };

/** A question of either version. The messages of both differ only in the package. */
type Question = ServerReflectionRequest | AlphaRequest;

type MessageResponse =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | {
      case: "allExtensionNumbersResponse";
      value: { baseTypeName: string; extensionNumber: number[] };
    }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

/**
 * Registers reflection over these services with the files that they need, and over health and
 * reflection.
 */
export function reflectionRoutes(
  services: readonly DescService[],
  limits = defaultLimits,
): OpenRoutes {
  const answer = createAnswerer([...services, Health, ServerReflection, ServerReflectionAlpha]);
  const enter = createPlaces<object>(limits);
  const replies = async function* <Q extends Question>(
    questions: AsyncIterable<Q>,
    { values }: HandlerContext,
  ) {
    const leave = enter(connectionOf(values));
    if (leave === null) throw tooMany("streams of reflection are open; try again later");
    try {
      let received = 0;
      for await (const question of questions) {
        received += 1;
        if (received > limits.questions)
          throw tooMany("questions in one stream of reflection; open another");
        yield {
          validHost: question.host,
          originalRequest: question,
          messageResponse: answer(question),
        };
        // Questions that arrived together are answered one at a time, so that other requests run in
        // between.
        await nextEvents();
      }
    } finally {
      leave();
    }
  };
  return (router) => {
    router.service(ServerReflection, { serverReflectionInfo: replies });
    router.service(ServerReflectionAlpha, { serverReflectionInfo: replies });
  };
}

function tooMany(what: string): ConnectError {
  return new ConnectError(`too many ${what}`, Code.ResourceExhausted);
}

function createAnswerer(services: readonly DescService[]): (question: Question) => MessageResponse {
  const files = new Map<string, DescFile>();
  for (const service of services) collect(service.file, files);
  // No service imports the details of errors, and a client shows only what it can read.
  collect(file_google_rpc_error_details, files);
  const symbols = new Map<string, DescFile>();
  for (const file of files.values()) for (const name of symbolsOf(file)) symbols.set(name, file);
  const extensions = [...files.values()].flatMap((file) =>
    file.extensions.map((extension) => ({ file, extension })),
  );
  const fileAnswer = createFileAnswer();

  return ({ messageRequest: question }) => {
    switch (question.case) {
      case "listServices": {
        const service = services.map(({ typeName }) => ({ name: typeName }));
        return { case: "listServicesResponse", value: { service } };
      }
      case "fileByFilename":
        return fileAnswer(files.get(question.value), question.value);
      case "fileContainingSymbol":
        return fileAnswer(symbols.get(question.value), question.value);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = question.value;
        const found = extensions.find(
          ({ extension }) =>
            extension.extendee.typeName === containingType && extension.number === extensionNumber,
        );
        return fileAnswer(found?.file, `extension ${extensionNumber} of ${containingType}`);
      }
      case "allExtensionNumbersOfType": {
        const numbers = extensions
          .filter(({ extension }) => extension.extendee.typeName === question.value)
          .map(({ extension }) => extension.number);
        if (!symbols.has(question.value)) return notFound(question.value);
        const value = { baseTypeName: question.value, extensionNumber: numbers };
        return { case: "allExtensionNumbersResponse", value };
      }
      default:
        return errorAnswer(Code.InvalidArgument, "nothing was asked");
    }
  };
}

/** Adds each file after its imports. */
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
  for (const enumType of file.enums) yield enumType.typeName;
  for (const extension of file.extensions) yield extension.typeName;
}

/**
 * Returns the file and all its imports, each file before its own imports, so that a client needs
 * one question for a service. Each file is encoded once in the life of the process, and each answer
 * is composed once.
 */
function createFileAnswer(): (file: DescFile | undefined, name: string) => MessageResponse {
  const encoded = new Map<DescFile, Uint8Array>();
  const encode = (file: DescFile): Uint8Array => {
    const bytes = encoded.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
    encoded.set(file, bytes);
    return bytes;
  };
  const answers = new Map<DescFile, MessageResponse>();
  return (file, name) => {
    if (file === undefined) return notFound(name);
    const known = answers.get(file);
    if (known !== undefined) return known;
    const needed = new Map<string, DescFile>();
    collect(file, needed);
    const fileDescriptorProto = [...needed.values()].reverse().map(encode);
    const created: MessageResponse = {
      case: "fileDescriptorResponse",
      value: { fileDescriptorProto },
    };
    answers.set(file, created);
    return created;
  };
}

function notFound(name: string): MessageResponse {
  return errorAnswer(Code.NotFound, `${name} is not known here`);
}

function errorAnswer(errorCode: Code, errorMessage: string): MessageResponse {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
