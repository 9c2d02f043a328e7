import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';

import type { StoredFile } from '#contracts/call';
import type { Access } from '#contracts/http/define';
import type { CallContext } from '#contracts/vocabulary';
import type { Caller, Credential } from '../authentication/caller.ts';
import type { Deps } from '../deps.ts';
import type { RefusalType } from '../records/refusals.ts';
import type { Person } from './person.ts';
import { toPortableSchema } from './portable-schema.ts';
import type { JsonObject } from './portable-schema.ts';

/** One `tools/call` request, as the tool receives it. */
export interface ToolCall {
  readonly deps: Deps;
  readonly caller: Caller;
  /** The caller's credential, which may be passed on to auth only. */
  readonly credential: Credential;
  /** Authenticates the caller again, because a principal expires after seconds. */
  readonly authenticate: () => Promise<Caller>;
  readonly context: CallContext;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** How to send the client's user to a page; null if the client cannot. */
  readonly person: Person | null;
}

export type Structured = Readonly<Record<string, unknown>>;

/**
 * The answer of a tool: a result, or a page that the user must visit before the call can be made.
 */
export type ToolAnswer =
  | {
      readonly kind: 'result';
      readonly structured: Structured;
      readonly files: readonly StoredFile[];
      /** True if the provider did not do what it was asked to do. */
      readonly isError: boolean;
    }
  | { readonly kind: 'ask_person'; readonly page: PersonPage }
  | { readonly kind: 'authorize'; readonly page: AuthorizationPage };

export interface PersonPage {
  readonly approvalId: string;
  readonly url: string;
  readonly message: string;
}

/**
 * The page on which a user signs in to the service or enters its secret. The client then repeats
 * the call.
 */
export interface AuthorizationPage {
  /** The id of the connection, or a random id. */
  readonly id: string;
  readonly url: string;
  readonly message: string;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly input: z.ZodObject;
  /**
   * The JSON Schemas that `tools/list` shows; their roots are objects. They name the fields but
   * leave out limits, which `input` enforces: every agent has the list in the context of each
   * conversation, so it must be short (docs/reference/calling.md#mcp).
   */
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject;
  /** Returns the scope that a call with these arguments needs. */
  scopeOf(input: unknown): Access;
  /** The type of the audit record for a refused call; null for tools that change nothing. */
  readonly refusedAs: RefusalType | null;
  /** Refuses arguments for which the schema's own error message would not help the agent. */
  readonly refuse?: ((given: Structured) => void) | undefined;
  run(input: never, call: ToolCall): Promise<ToolAnswer>;
}

interface ToolSpec<Input extends z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly input: Input;
  /**
   * The fields of a result from which a program decides what to do next. Errors have none of these
   * fields.
   */
  readonly output?: z.ZodRawShape;
  readonly refusedAs: RefusalType | null;
  readonly refuse?: (given: Structured) => void;
  readonly scope: Access | ((input: unknown) => Access);
  readonly run: (input: z.output<Input>, call: ToolCall) => Promise<ToolAnswer>;
}

export function defineTool<Input extends z.ZodObject>(name: string, spec: ToolSpec<Input>): Tool {
  const { title, description, annotations, input, scope, refusedAs, refuse, run } = spec;
  const output = z.looseObject(spec.output ?? {}).partial();
  return {
    name,
    title,
    description,
    annotations,
    input,
    inputSchema: toShownSchema(input, 'input'),
    outputSchema: toShownSchema(output, 'output'),
    scopeOf: typeof scope === 'function' ? scope : () => scope,
    refusedAs,
    refuse,
    run,
  };
}

/**
 * Builds a result. `files` are the files that the result names; clients also receive them as
 * resource links.
 */
export function result(
  structured: Structured,
  files: readonly StoredFile[] = [],
  isError = false,
): ToolAnswer {
  return { kind: 'result', structured, files, isError };
}

/**
 * Returns the same schema without its description. Used for fields in `tools/list` whose names say
 * enough.
 */
export function withoutDescription<S extends z.ZodType>(schema: S): S {
  return schema.meta({ description: undefined });
}

/**
 * The schema keywords for limits and formats. A call that violates one of them is refused with an
 * error that names it.
 */
const limitKeywords = [
  'format',
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'propertyNames',
] as const;

/**
 * Converts a schema to JSON Schema, and drops keywords that confuse models or waste tokens: the
 * dialect, limits, definitions.
 */
function toShownSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const {
    $schema: _schema,
    $defs: _defs,
    ...rest
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      for (const keyword of limitKeywords) delete jsonSchema[keyword];
      // A call with an unknown field gets an error that lists the known ones.
      if (jsonSchema.additionalProperties !== true) delete jsonSchema.additionalProperties;
      if (Object.keys(jsonSchema.properties ?? { any: {} }).length === 0)
        delete jsonSchema.properties;
    },
  });
  return toPortableSchema(JSON.parse(JSON.stringify(rest)));
}
