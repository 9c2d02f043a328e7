import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';

import { deadlineIn } from '#bus';
import { httpRoutes } from '#contracts/all';
import type { RouteName } from '#contracts/all';
import type { Access, RouteSpec } from '#contracts/http/define';
import { AppError } from '#errors';
import { inSpan } from '#telemetry';
import { readCredential } from '../authenticate.ts';
import type { Caller, Credential } from '../authenticate.ts';
import { contextOf } from '../context.ts';
import type { Deps } from '../deps.ts';
import { mayUse } from '#contracts/scopes';
import { refuseManyNames } from '../domain/call-body.ts';
import { invalidRequest, validate } from '../domain/validate.ts';
import type { RateLimited } from '../rate-limits.ts';
import type { RouteHandler } from '../route.ts';
import { createHandlers } from '../routes/index.ts';
import type { Held } from '../under-way.ts';
import { methodNotAllowed } from './error-handler.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for routes that are not public, before their body is read. */
    admitted: Admitted | null;
    /** Set as soon as it is known, of requests that are not admitted too. */
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    readonly spec?: RouteSpec;
  }
}

export interface Admitted {
  readonly credential: Credential;
  readonly caller: Caller;
  /** Its place among the requests under way; given back when the response is closed, or before. */
  readonly place: Held;
}

interface RoutesOptions {
  /** Tests parse every answer with its schema; in production the component already did. */
  readonly checkAnswers: boolean;
}

/** Of what strangers may send: a sign-in is the longest, with a password of 800 escaped characters. */
const publicBodyBytesMax = 8_192;
/** No request takes longer: every component behind a route answers or times out sooner. */
const requestMsMax = 125_000;
/** Their bodies hold members of any name. */
const takesNames: ReadonlySet<string> = new Set<RouteName>([
  'callAction',
  'callConnection',
  'validateAction',
  'createService',
  'updateService',
  'upgradeService',
  'putOauthApp',
]);
const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'] as const;

/** Binds a handler to every route of the table. */
export function registerRoutes(app: FastifyInstance, deps: Deps, options: RoutesOptions): void {
  app.decorateRequest('admitted', null);
  app.decorateRequest('caller', null);
  const handlers = createHandlers(deps);
  const table: readonly [string, RouteSpec][] = Object.entries(httpRoutes);
  for (const [name, spec] of table) {
    const handler = handlers[name as RouteName] as unknown as RouteHandler<RouteSpec>;
    app.route({
      method: spec.method,
      url: toFastifyPath(spec.path),
      config: { spec },
      ...(spec.access === 'public'
        ? { bodyLimit: publicBodyBytesMax, onRequest: publicAdmission(deps, spec) }
        : { onRequest: admission(deps, spec.access) }),
      handler: serveRoute(deps, spec, {
        handler,
        beforeBody: takesNames.has(name) ? (body) => refuseManyNames(body, deps.limits) : undefined,
        ...options,
      }),
    });
  }
  refuseOtherMethods(
    app,
    table.map(([, { method, path }]) => ({ method, url: toFastifyPath(path) })),
  );
}

/** `/v1/approvals/{id}` as Fastify writes it. */
function toFastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Answers 405 with the methods that an address does have. */
export function refuseOtherMethods(
  app: FastifyInstance,
  routes: readonly { readonly method: string; readonly url: string }[],
  { head = true }: { readonly head?: boolean } = {},
): void {
  const byUrl = Map.groupBy(routes, ({ url }) => url);
  for (const [url, own] of byUrl) {
    const allowed = own.flatMap(({ method }) =>
      method === 'GET' && head ? ['GET', 'HEAD'] : [method],
    );
    app.route({
      method: methods.filter((method) => !allowed.includes(method)),
      url,
      exposeHeadRoute: false,
      onRequest: async (_request, reply) => {
        void reply.header('allow', allowed.join(', '));
        throw methodNotAllowed(allowed);
      },
      handler: async () => undefined,
    });
  }
}

/** Authentication, rate limits, scope and room for it, before a byte of the body is read. */
export function admission(deps: Deps, access: Access) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const credential = readCredential(deps.site(), request);
    const caller = await deps.authenticator.authenticate(credential, request.ip);
    request.caller = caller;
    admit(reply, deps.rates.ofCaller(caller));
    if (!mayUse(caller.claims, access)) {
      throw new AppError(
        'insufficient_scope',
        `This needs the scope ${access}; sign in, or use a credential that has it.`,
        { details: { scope: access } },
      );
    }
    const place = deps.underWay.request(caller.claims, reply.raw);
    request.admitted = { credential, caller, place };
  };
}

/** What strangers send is counted before a byte of it is read; looking at our health is not. */
function publicAdmission({ rates }: Deps, { body }: RouteSpec) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (body !== undefined) admit(reply, rates.ofSignIn(request.ip));
  };
}

/** Counts what one address asks of pages that need no credential. */
export function countPublic({ rates }: Pick<Deps, 'rates'>) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    admit(reply, rates.ofPublic(request.ip));
  };
}

/** Says in the answer how much of a quota is left; throws when nothing is. */
export function admit(reply: FastifyReply, limited: RateLimited | null): void {
  if (limited === null) return;
  void reply.headers(limited.headers);
  if (limited.refusal !== null) throw limited.refusal;
}

/** What a body costs beyond its request, before anything is done with it. */
export function chargeBody({ rates }: Deps, request: FastifyRequest, reply: FastifyReply): void {
  const { admitted, bodyCost } = request;
  if (admitted !== null && bodyCost !== null) admit(reply, rates.ofBody(admitted.caller, bodyCost));
}

interface ServedRoute {
  readonly handler: RouteHandler<RouteSpec>;
  /** What is looked at before the body is validated. */
  readonly beforeBody: ((body: unknown) => void) | undefined;
}

function serveRoute(
  deps: Deps,
  spec: RouteSpec,
  { handler, beforeBody, checkAnswers }: RoutesOptions & ServedRoute,
) {
  const bodySchema = spec.body && z.compile(spec.body);
  return (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    inSpan(`${spec.method} ${spec.path}`, {}, async () => {
      const { admitted } = request;
      chargeBody(deps, request, reply);
      beforeBody?.(request.body);
      const answered = await handler({
        params: spec.params && (validate(spec.params, request.params, 'path') as never),
        query: checkedQuery(spec, request.query) as never,
        body: checkedBody(bodySchema, request.body) as never,
        // Null exactly for public routes, as the handler's type says.
        caller: (admitted?.caller ?? null) as Caller,
        credential: (admitted?.credential ?? null) as Credential,
        authenticate: () => deps.authenticator.authenticate((admitted as Admitted).credential),
        headers: request.headers,
        context: contextOf(request),
        deadline: deadlineIn(requestMsMax),
        get signal() {
          return disconnectSignal(reply);
        },
      });
      const { status, body, headers } = answered;
      if (checkAnswers) spec.responses[status]?.parse(body);
      if (deps.stopping.aborted) void reply.header('connection', 'close');
      if (headers !== undefined) void reply.headers(headers);
      return reply.code(status).send(body);
    });
}

function checkedQuery(spec: RouteSpec, query: unknown): unknown {
  if (spec.query !== undefined) return validate(spec.query, query, 'query');
  const given = Object.keys(query as object);
  if (given.length === 0) return undefined;
  const issues = given.map((path) => ({ path, message: 'is not a known parameter' }));
  throw invalidRequest('This address takes no query parameters; leave them out.', issues);
}

function checkedBody(schema: z.ZodType | undefined, body: unknown): unknown {
  if (schema !== undefined) {
    if (body === undefined) {
      throw invalidRequest('This address needs a JSON body.', [
        { path: '', message: 'is required' },
      ]);
    }
    return validate(schema, body, 'body');
  }
  if (body === undefined || body === null) return undefined;
  const given = typeof body === 'object' ? Object.keys(body) : [''];
  if (given.length === 0) return undefined;
  const issues = given.map((path) => ({ path, message: 'is not a known field' }));
  throw invalidRequest('This address takes no body; leave it out.', issues);
}

/** Aborts when the connection is gone before the answer was sent. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (reply.raw.destroyed && !reply.raw.writableFinished) gone.abort();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
