import type { IncomingHttpHeaders } from 'node:http';

import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { RouteName, httpRoutes } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import type { CallContext } from '#contracts/vocabulary';
import type { Caller, Credential } from '../authentication/caller.ts';

/** The input of a handler. Every part has been parsed with the schemas of the route. */
export interface RouteInput<Spec extends RouteSpec> {
  readonly params: ParsedPart<Spec, 'params'>;
  readonly query: ParsedPart<Spec, 'query'>;
  readonly body: ParsedPart<Spec, 'body'>;
  readonly caller: Spec['access'] extends 'public' ? null : Caller;
  /** The caller's credential, which may be passed on to auth only. */
  readonly credential: Spec['access'] extends 'public' ? null : Credential;
  /** Authenticates the caller again, for work that takes longer than a principal is valid. */
  readonly authenticate: () => Promise<Caller>;
  readonly headers: IncomingHttpHeaders;
  readonly context: CallContext;
  readonly deadline: Deadline;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

type ParsedPart<Spec, Name extends string> = Spec extends {
  readonly [N in Name]: infer S extends z.ZodType;
}
  ? z.output<S>
  : undefined;

type BodyOf<S> = S extends z.ZodType ? z.input<S> : undefined;

/** One of the answers that the contract of the route declares. */
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

/** The handlers of a route table. A missing handler is a compile error. */
export type HandlersOf<Routes extends Record<string, RouteSpec>> = {
  readonly [Name in keyof Routes]: RouteHandler<Routes[Name]>;
};

/** The handlers of the whole route table. */
export type RouteHandlers = HandlersOf<{
  readonly [Name in RouteName]: (typeof httpRoutes)[Name];
}>;

/**
 * Awaits the body and returns an answer with this body and status. Most handlers have only this one
 * kind of answer.
 */
export async function answer<const Status extends number, Body>(
  status: Status,
  body: Promise<Body>,
): Promise<{ readonly status: Status; readonly body: Body }> {
  return { status, body: await body };
}

/** Awaits the work and answers 204 without a body. */
export async function answerNoContent(
  work: Promise<unknown>,
): Promise<{ readonly status: 204; readonly body: undefined }> {
  await work;
  return { status: 204, body: undefined };
}

const pageLimitDefault = 50;

/**
 * Turns `?limit=&cursor=` into the page request that components take
 * (docs/reference/limits.md#lists).
 */
export function pageRequestOf(query: {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}): { limit: number; cursor: string | null } {
  return { limit: query.limit ?? pageLimitDefault, cursor: query.cursor ?? null };
}
