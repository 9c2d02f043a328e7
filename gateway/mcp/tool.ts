import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';

import type { Access } from '#contracts/http/define';
import type { CallContext } from '#contracts/vocabulary';
import type { JsonValue } from '#errors';
import type { Caller } from '../authenticate.ts';
import type { Deps } from '../deps.ts';
import type { Person } from './person.ts';

/** One `tools/call`, as its tool sees it. */
export interface ToolCall {
  readonly deps: Deps;
  readonly caller: Caller;
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
  | { readonly kind: 'result'; readonly structured: Structured }
  | { readonly kind: 'ask_person'; readonly page: PersonPage };

export interface PersonPage {
  readonly approvalId: string;
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
  run(input: never, call: ToolCall): Promise<ToolAnswer>;
}

export type JsonObject = { readonly [key: string]: JsonValue | undefined };

interface ToolSpec<Input extends z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly annotations: ToolAnnotations;
  readonly input: Input;
  /** Every field that any result has, each optional; `error` and `message` come by themselves. */
  readonly output: z.ZodRawShape;
  /** The fields that say which result it is. */
  readonly tag: string;
  readonly scope: Access | ((input: unknown) => Access);
  readonly run: (input: z.output<Input>, call: ToolCall) => Promise<ToolAnswer>;
}

/** Fields of the error envelope, in every tool's output schema: clients validate errors too. */
const failure = {
  error: z.string().describe('Typed error code; present only when the call failed.'),
  message: z.string().describe('What went wrong and what to do about it.'),
  request_id: z.string(),
};

export function defineTool<Input extends z.ZodObject>(name: string, spec: ToolSpec<Input>): Tool {
  const { title, description, annotations, input, scope, run } = spec;
  const output = z.looseObject({ ...spec.output, ...failure }).partial();
  return {
    name,
    title,
    description,
    annotations: { title, ...annotations },
    input,
    inputSchema: toSchema(input, 'input'),
    outputSchema: {
      ...toSchema(output, 'output'),
      anyOf: [{ required: [spec.tag] }, { required: ['error', 'message'] }],
    },
    scopeOf: typeof scope === 'function' ? scope : () => scope,
    run,
  };
}

export function result(structured: Structured): ToolAnswer {
  return { kind: 'result', structured };
}

/** Without what only confuses a model: the dialect's name, and patterns longer than their `format`. */
function toSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      delete jsonSchema.propertyNames;
    },
  });
  return rest as JsonObject;
}
