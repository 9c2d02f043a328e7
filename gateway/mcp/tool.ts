import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';

import type { StoredFile } from '#contracts/call';
import type { Access } from '#contracts/http/define';
import type { CallContext } from '#contracts/vocabulary';
import type { Caller, Credential } from '../authenticate.ts';
import type { Deps } from '../deps.ts';
import type { RefusalType } from '../refusals.ts';
import type { Person } from './person.ts';
import { portableSchema } from './portable-schema.ts';
import type { JsonObject } from './portable-schema.ts';

/** One `tools/call`, as its tool sees it. */
export interface ToolCall {
  readonly deps: Deps;
  readonly caller: Caller;
  /** What the caller came with; for auth alone. */
  readonly credential: Credential;
  /** The caller as of now: a principal lives for seconds. */
  readonly authenticate: () => Promise<Caller>;
  readonly context: CallContext;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  /** The person at the client, when the client can send them to a page; null otherwise. */
  readonly person: Person | null;
}

export type Structured = Readonly<Record<string, unknown>>;

/** What a tool comes to: a result, or the request that the client lets a person act first. */
export type ToolAnswer =
  | {
      readonly kind: 'result';
      readonly structured: Structured;
      readonly files: readonly StoredFile[];
    }
  | { readonly kind: 'ask_person'; readonly page: PersonPage }
  | { readonly kind: 'authorize'; readonly page: AuthorizationPage };

export interface PersonPage {
  readonly approvalId: string;
  readonly url: string;
  readonly message: string;
}

/** Where a person lets the service be used: signs in to it, or enters its secret. Then the call is made again. */
export interface AuthorizationPage {
  /** Of the connection, if there is one. */
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
  /** As listed: a JSON Schema whose root is an object. */
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject;
  /** What the credential must allow for a call with these arguments. */
  scopeOf(input: unknown): Access;
  /** What the audit log calls a refusal of it; null: it changes nothing. */
  readonly refusedAs: RefusalType | null;
  /** Throws for what deserves a better sentence than the schema has. */
  readonly refuse?: ((given: Structured) => void) | undefined;
  run(input: never, call: ToolCall): Promise<ToolAnswer>;
}

interface ToolSpec<Input extends z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly input: Input;
  /** Every field that any result has; all but the tag optional. */
  readonly output: z.ZodRawShape;
  /** The field that every result has. */
  readonly tag: string;
  readonly refusedAs: RefusalType | null;
  readonly refuse?: (given: Structured) => void;
  readonly scope: Access | ((input: unknown) => Access);
  readonly run: (input: z.output<Input>, call: ToolCall) => Promise<ToolAnswer>;
}

/** The error envelope is part of every tool's output schema: clients validate errors too. */
const failure = z.looseObject({
  error: z.string().describe('Typed error code.'),
  message: z.string().describe('What went wrong and what to do about it.'),
  request_id: z.string(),
});

export function defineTool<Input extends z.ZodObject>(name: string, spec: ToolSpec<Input>): Tool {
  const { title, description, annotations, input, scope, refusedAs, refuse, run } = spec;
  const success = z
    .looseObject(spec.output)
    .partial()
    .required({ [spec.tag]: true });
  return {
    name,
    title,
    description,
    annotations: { title, ...annotations },
    input,
    inputSchema: toSchema(input, 'input'),
    outputSchema: {
      type: 'object',
      anyOf: [toSchema(success, 'output'), toSchema(failure, 'output')],
    },
    scopeOf: typeof scope === 'function' ? scope : () => scope,
    refusedAs,
    refuse,
    run,
  };
}

/** `files` are those that the result names: clients are given them as links as well. */
export function result(structured: Structured, files: readonly StoredFile[] = []): ToolAnswer {
  return { kind: 'result', structured, files };
}

/**
 * Without what only confuses a model or costs it words: the dialect's name, patterns longer than
 * their `format`, and definitions.
 */
function toSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const {
    $schema: _schema,
    $defs: _defs,
    ...rest
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      delete jsonSchema.propertyNames;
    },
  });
  return portableSchema(JSON.parse(JSON.stringify(rest)));
}
