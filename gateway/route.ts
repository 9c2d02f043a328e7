import type { IncomingHttpHeaders } from 'node:http';

import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { RouteSpec } from '#contracts/http/define';
import type { CallContext } from '#contracts/vocabulary';
import type { Caller, Credential } from './authenticate.ts';

/** What a handler is given: every part already parsed with the route's own schemas. */
export interface RouteInput<Spec extends RouteSpec> {
  readonly params: Part<Spec, 'params'>;
  readonly query: Part<Spec, 'query'>;
  readonly body: Part<Spec, 'body'>;
  readonly caller: Spec['access'] extends 'public' ? null : Caller;
  /** What the caller came with; for auth alone. */
  readonly credential: Spec['access'] extends 'public' ? null : Credential;
  /** The caller as of now, for what outlives a principal. */
  readonly authenticate: () => Promise<Caller>;
  readonly headers: IncomingHttpHeaders;
  readonly context: CallContext;
  readonly deadline: Deadline;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

type Part<Spec, Name extends string> = Spec extends {
  readonly [N in Name]: infer S extends z.ZodType;
}
  ? z.output<S>
  : undefined;

type BodyOf<S> = S extends z.ZodType ? z.input<S> : undefined;

/** One of the answers the route declares. */
export type RouteAnswer<Spec extends RouteSpec> = {
  [Status in keyof Spec['responses']]: {
    readonly status: Status;
    readonly body: BodyOf<Spec['responses'][Status]>;
    readonly headers?: Readonly<Record<string, string | string[]>>;
  };
}[keyof Spec['responses']];

export type RouteHandler<Spec extends RouteSpec> = (
  input: RouteInput<Spec>,
) => Promise<RouteAnswer<Spec>>;

/** A handler for every route of a table: one left out does not compile. */
export type HandlersOf<Routes extends Record<string, RouteSpec>> = {
  readonly [Name in keyof Routes]: RouteHandler<Routes[Name]>;
};

/** Most routes have one answer: `answer(200, call)` waits for the body and gives it that status. */
export async function answer<const Status extends number, Body>(
  status: Status,
  body: Promise<Body>,
): Promise<{ readonly status: Status; readonly body: Body }> {
  return { status, body: await body };
}

/** For 204: the work counts, its answer does not. */
export async function done(
  work: Promise<unknown>,
): Promise<{ readonly status: 204; readonly body: undefined }> {
  await work;
  return { status: 204, body: undefined };
}

const pageLimitDefault = 50;

/** `?limit=&cursor=` as the components take it (docs/reference/limits.md#lists). */
export function pageRequestOf(query: {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}): { limit: number; cursor: string | null } {
  return { limit: query.limit ?? pageLimitDefault, cursor: query.cursor ?? null };
}
