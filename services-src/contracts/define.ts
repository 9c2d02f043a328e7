import type { z } from 'zod';

import type { ErrorCode } from './errors.ts';
import type { Component } from './vocabulary.ts';

/** One request/reply endpoint: what goes in, what comes out, and how long it may take. */
export interface EndpointSpec {
  readonly request: z.ZodType;
  readonly response: z.ZodType;
  /** The failures it reports on purpose; a subset of the closed list in errors.ts. */
  readonly errors: readonly ErrorCode[];
  /** Who may call it: its NATS publish permissions are generated from this. */
  readonly callers: readonly Component[];
  /** Upper bound for one call. A caller whose own deadline is nearer gets less. */
  readonly timeoutMs: number;
  /** On the path of every action call, or large: neither side parses the reply by its schema (tests do). */
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
