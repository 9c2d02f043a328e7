import type { Readable } from 'node:stream';

import type { CallContext } from '#contracts/vocabulary';
import type { AppError } from '#errors';
import type { ReceivedAnswer } from '../answers/domain/shape-body.ts';
import type { RpcResponse } from '../mcp/domain/message.ts';
import type { Credential } from '../request/domain/inject.ts';
import type { PermitOrGap } from '../request/permit.ts';
import type { PreparedCall } from '../request/prepare-call.ts';

export interface Sending {
  readonly permit: PermitOrGap;
  readonly prepared: PreparedCall;
  readonly credentials: readonly Credential[];
  readonly timeoutMs: number;
  /** Present for actions of the service `platform`. */
  readonly platformCaller?: PlatformCaller | undefined;
  /** Present for reads. Aborts when the client has disconnected. */
  readonly signal?: AbortSignal | undefined;
}

export interface Answer extends ReceivedAnswer {
  /** The URL that answered, after redirects and without credentials. */
  readonly url: string;
  readonly stream?: Readable | null;
  /** The JSON-RPC message in an MCP server's answer, if there is one. */
  readonly message?: RpcResponse | undefined;
}

/** The outcome of a request that is sent at most once. */
export type SendOutcome =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** Nothing was sent for certain. */
  | { readonly kind: 'unsent'; readonly error: AppError }
  /** It is unknown whether the request arrived. */
  | { readonly kind: 'unknown'; readonly error: AppError };

/** The caller of an action of the service `platform`. */
export interface PlatformCaller {
  readonly principal: string;
  readonly context: CallContext;
}
