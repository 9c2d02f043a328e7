import { z } from 'zod';

import type { ErrorCode } from '../errors.ts';
import type { EventType } from '../event-types.ts';
import type { Component, Scope } from '../vocabulary.ts';

/**
 * Who may use a route. `public`: no credential is needed. `any`: any credential. Otherwise the
 * scope that the credential needs (`user`: a session or the user scope).
 */
export type Access = 'public' | 'any' | Exclude<Scope, 'mcp'>;

/** An answer that is not JSON but the unchanged bytes of a file. */
export const fileBody = z.custom<ReadableStream<Uint8Array>>();

/**
 * A bus endpoint, such as `auth.updateIdentity`. all.ts checks that it exists, because all.ts
 * imports all contracts.
 */
export type EndpointReference = `${Exclude<Component, 'gateway'>}.${string}`;

/**
 * The definition of one REST route, from which validation, the OpenAPI document and the dashboard's
 * types are derived. A route's errors are those of the endpoints that it serves and those that
 * every similar route may answer (route-errors.ts); `errors` adds the refusals by the gateway
 * itself.
 */
export interface RouteSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path in OpenAPI notation: `/v1/approvals/{id}`. */
  readonly path: `/${string}`;
  readonly summary: string;
  readonly tag: string;
  readonly access: Access;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The schema of the body for each status; `null` means no body. */
  readonly responses: Readonly<Record<number, z.ZodType | null>>;
  /**
   * The endpoints that the route's handler calls; `none` when the gateway answers without calling
   * any.
   */
  readonly serves: EndpointReference | readonly EndpointReference[] | 'none';
  readonly errors?: readonly ErrorCode[];
  /** The audit events that the route causes; `none` when it causes none. */
  readonly audit: readonly EventType[] | 'none';
}

export function defineRoutes<const R extends Record<string, RouteSpec>>(routes: R): R {
  return routes;
}
