/** UsageService as it would be while its method is only planned: the contract's own file with that option set, and nothing else. */
import {
  clone,
  createFileRegistry,
  type DescFile,
  type DescService,
  getOption,
  setExtension,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { operation as operationOption } from "../../../src/gen/proto/billing/options/v1/options_pb.ts";
import { UsageService } from "../../../src/gen/proto/billing/v1/usage_pb.ts";

/** Its method is `reportUsage`. */
export const plannedUsageService: DescService = planned();

function planned(): DescService {
  const { file, method } = UsageService;
  const proto = clone(FileDescriptorProtoSchema, file.proto);
  const options = proto.service[0]?.method[0]?.options;
  if (options === undefined) throw new Error("the method has no options");
  setExtension(options, operationOption, {
    ...getOption(method.reportUsage, operationOption),
    planned: true,
  });
  const imported = new Map<string, DescFile>();
  const collect = (one: DescFile): void => {
    imported.set(`${one.name}.proto`, one);
    one.dependencies.forEach(collect);
  };
  file.dependencies.forEach(collect);
  const service = createFileRegistry(proto, (name) => imported.get(name)).getService(
    UsageService.typeName,
  );
  if (service === undefined) throw new Error("the file has no such service");
  return service;
}
