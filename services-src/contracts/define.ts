import type { z } from 'zod';

import type { ErrorCode } from './errors.ts';
import type { Component } from './vocabulary.ts';

/** One request/reply endpoint: its request, its response, and how long it may take. */
export interface EndpointSpec {
  readonly request: z.ZodType;
  readonly response: z.ZodType;
  /** The errors that the endpoint reports on purpose; a subset of the closed list in errors.ts. */
  readonly errors: readonly ErrorCode[];
  /**
   * The components that may call it; their NATS publish permissions are generated from this list.
   */
  readonly callers: readonly Component[];
  /** The time limit of one call. A caller whose own deadline is nearer waits for less. */
  readonly timeoutMs: number;
  /**
   * Whether the client sends the request to a second replica when the first one is slow to answer.
   * True for an endpoint that changes nothing but times of last use. An endpoint that changes
   * something says in `because` why a second request changes nothing more. False where a second
   * request would burden somebody else again: an upstream, or a replica that is busy for long.
   */
  readonly repeatable: boolean | { readonly because: string };
  /**
   * Set for endpoints that every action call uses or whose replies are large: to save time, neither
   * side parses the reply by its schema (the tests do).
   */
  readonly hot?: true;
}

export interface Contract<E extends Record<string, EndpointSpec> = Record<string, EndpointSpec>> {
  readonly owner: Component;
  readonly version: number;
  readonly endpoints: E;
}

export function defineContract<const E extends Record<string, EndpointSpec>>(
  owner: Component,
  endpoints: E,
  version = 1,
): Contract<E> {
  return { owner, version, endpoints };
}

/** `rpc.<owner>.v<version>.<endpoint>`, for example `rpc.approvals.v1.resolve`. */
export function subjectOf(contract: Contract, endpoint: string): string {
  return `rpc.${contract.owner}.v${contract.version}.${endpoint}`;
}
