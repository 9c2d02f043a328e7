import { z } from 'zod';

import type { ErrorCode } from '../errors.ts';
import type { EventType } from '../events.ts';
import type { Scope } from '../vocabulary.ts';

/** `public`: no credential. `any`: any credential. Else the scope it needs (`user`: a session or the user scope). */
export type Access = 'public' | 'any' | Exclude<Scope, 'mcp'>;

/** An answer that is no JSON: the bytes of a file, as they come. */
export const fileBody = z.custom<ReadableStream<Uint8Array>>();

/**
 * One REST route: the only description of what crosses HTTP. Validation, the OpenAPI document
 * and the dashboard's types come from it. Errors every route may answer (`invalid_request`,
 * `unauthenticated`, `insufficient_scope`, `rate_limited`, `too_large`, `unsupported_media_type`,
 * `internal`, `unavailable`) are not repeated in `errors`.
 */
export interface RouteSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** OpenAPI spelling: `/v1/approvals/{id}`. */
  readonly path: `/${string}`;
  readonly summary: string;
  readonly tag: string;
  readonly access: Access;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** By status. `null`: no body. */
  readonly responses: Readonly<Record<number, z.ZodType | null>>;
  readonly errors: readonly ErrorCode[];
  /** The audit event it leaves, or `none` and why is plain from the method. */
  readonly audit: readonly EventType[] | 'none';
}

export function defineRoutes<const R extends Record<string, RouteSpec>>(routes: R): R {
  return routes;
}
