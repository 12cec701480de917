/** The parts of the OpenAPI document that the reference shows. */

/** A schema, as `tools/openapi` writes it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** A parameter of the path, the query or the header. */
export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
}

/** The JSON of a request or a response. */
interface Content {
  readonly "application/json": {
    readonly schema: Schema;
    readonly example?: unknown;
    /** Of an error response: one for each code. */
    readonly examples?: Readonly<Record<string, unknown>>;
  };
}

/** An operation, or an event's request to an endpoint. */
export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Content }>
  >;
  readonly "x-codeSamples"?: readonly {
    readonly lang: string;
    readonly label: string;
    readonly source: string;
  }[];
}

/** The document. */
export interface OpenApi {
  readonly info: { readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    /** The error answers, by code. */
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
  };
}
