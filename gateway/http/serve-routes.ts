import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';

import { deadlineIn } from '#bus';
import { httpRoutes } from '#contracts/all';
import type { RouteName } from '#contracts/all';
import type { RouteSpec } from '#contracts/http/define';
import type { Caller, Credential } from '../authentication/caller.ts';
import { contextOf } from '../records/request-context.ts';
import type { Deps } from '../deps.ts';
import { refuseManyNames } from '../input/domain/name-limits.ts';
import { invalidRequest, validate } from '../input/domain/validate.ts';
import { admitCaller, admitStranger, chargeBody } from './admit-request.ts';
import type { AdmittedRequest } from './admit-request.ts';
import { inRequestSpan } from './request-span.ts';
import { refuseOtherMethods } from './refuse-other-methods.ts';
import { createDisconnectSignal } from './response.ts';
import type { RouteHandler, RouteHandlers } from './route-handler.ts';

interface RoutesOptions {
  readonly handlers: RouteHandlers;
  /**
   * Whether every answer is parsed with its schema. This is done in tests only; in production the
   * component that answers has already validated it.
   */
  readonly checkAnswers: boolean;
}

/**
 * The longest body of a public route is that of a sign-in, with a password of 800 escaped
 * characters.
 */
const publicBodyBytesMax = 8_192;
/** No request takes longer than this, because every component answers or times out earlier. */
const requestMsMax = 125_000;
/** Routes whose bodies contain objects with arbitrary member names. */
const routesWithArbitraryNames: ReadonlySet<string> = new Set<RouteName>([
  'callAction',
  'callConnection',
  'validateAction',
  'createService',
  'updateService',
  'upgradeService',
  'putOauthApp',
]);

/** Registers every route of the table with its handler. */
export function registerRoutes(
  app: FastifyInstance,
  deps: Deps,
  { handlers, checkAnswers }: RoutesOptions,
): void {
  app.decorateRequest('admitted', null);
  app.decorateRequest('caller', null);
  const routeTable: readonly [string, RouteSpec][] = Object.entries(httpRoutes);
  for (const [name, spec] of routeTable) {
    const handler = handlers[name as RouteName] as unknown as RouteHandler<RouteSpec>;
    app.route({
      method: spec.method,
      url: toFastifyPath(spec.path),
      config: { spec },
      ...(spec.access === 'public'
        ? { bodyLimit: publicBodyBytesMax, onRequest: admitStranger(deps, spec) }
        : { onRequest: admitCaller(deps, spec.access) }),
      handler: serveRoute(deps, spec, {
        handler,
        checkRawBody: routesWithArbitraryNames.has(name)
          ? (body) => refuseManyNames(body, deps.limits)
          : undefined,
        checkAnswers,
      }),
    });
  }
  refuseOtherMethods(
    app,
    routeTable.map(([, { method, path }]) => ({ method, url: toFastifyPath(path) })),
  );
}

/** Turns `/v1/approvals/{id}` into Fastify's `/v1/approvals/:id`. */
function toFastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

interface ServedRoute {
  readonly handler: RouteHandler<RouteSpec>;
  /** Checks the body before it is validated. */
  readonly checkRawBody: ((body: unknown) => void) | undefined;
}

function serveRoute(
  deps: Deps,
  spec: RouteSpec,
  {
    handler,
    checkRawBody: beforeBody,
    checkAnswers,
  }: Pick<RoutesOptions, 'checkAnswers'> & ServedRoute,
) {
  const bodySchema = spec.body && z.compile(spec.body);
  const spanName = `${spec.method} ${spec.path}`;
  return (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    inRequestSpan({ request, reply }, { name: spanName }, async () => {
      const { admitted } = request;
      chargeBody(deps, request, reply);
      beforeBody?.(request.body);
      const handlerAnswer = await handler({
        params: spec.params && (validate(spec.params, request.params, 'path') as never),
        query: parseQuery(spec, request.query) as never,
        body: parseBody(bodySchema, request.body) as never,
        // These can be null on public routes only, and the types of the handlers agree with this.
        caller: (admitted?.caller ?? null) as Caller,
        credential: (admitted?.credential ?? null) as Credential,
        authenticate: () =>
          deps.authenticator.authenticate((admitted as AdmittedRequest).credential),
        headers: request.headers,
        context: contextOf(request),
        deadline: deadlineIn(requestMsMax),
        get signal() {
          return createDisconnectSignal(reply);
        },
      });
      const { status, body, headers } = handlerAnswer;
      if (checkAnswers) spec.responses[status]?.parse(body);
      if (headers !== undefined) void reply.headers(headers);
      return reply.code(status).send(body);
    });
}

function parseQuery(spec: RouteSpec, query: unknown): unknown {
  if (spec.query !== undefined) return validate(spec.query, query, 'query');
  const givenFields = Object.keys(query as object);
  if (givenFields.length === 0) return undefined;
  const issues = givenFields.map((path) => ({ path, message: 'is not a known parameter' }));
  throw invalidRequest('This address takes no query parameters; leave them out.', issues);
}

function parseBody(schema: z.ZodType | undefined, body: unknown): unknown {
  if (schema !== undefined) {
    if (body === undefined) {
      throw invalidRequest('This address needs a JSON body.', [
        { path: '', message: 'is required' },
      ]);
    }
    return validate(schema, body, 'body');
  }
  if (body === undefined || body === null) return undefined;
  const givenFields = typeof body === 'object' ? Object.keys(body) : [''];
  if (givenFields.length === 0) return undefined;
  const issues = givenFields.map((path) => ({ path, message: 'is not a known field' }));
  throw invalidRequest('This address takes no body; leave it out.', issues);
}
