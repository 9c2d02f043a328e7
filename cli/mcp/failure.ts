import type { IncomingMessage } from 'node:http';

import type { Access } from '../credential/access.ts';
import { joinScopes } from '../credential/oauth.ts';
import { adviseOnAddress } from '../address.ts';
import { Refusal, reasonOf } from '../refusal.ts';
import { quoteForShell } from '../words.ts';
import { missingScopeOf } from './transport.ts';
import type { FrameId } from './frame.ts';
import { isSuccess } from './http.ts';

/** The first of the error codes that JSON-RPC reserves for servers. */
const serverErrorCode = -32_000;

/**
 * The reason why a frame gets no answer from the gateway: a JSON-RPC error for the sender of the
 * frame, and a sentence for a person.
 */
export interface Failure {
  readonly code: number;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export const notAFrameFailure: Failure = {
  code: -32_700,
  message: 'This line is not a JSON-RPC message.',
};
export const tooLongFailure: Failure = {
  code: -32_600,
  message: 'This message is larger than 16 MiB and was not sent.',
};
export const noAnswerFailure: Failure = {
  code: serverErrorCode,
  message:
    'The gateway ended its answer without a result. The call may have been made all the same.',
};

export function toFailureLine(id: FrameId | null, { code, message, data }: Failure): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } });
}

/** Turns a refusal of the gateway into an explanation for the person at the editor. */
export function failureOfAnswer(answer: IncomingMessage, body: string, access: Access): Failure {
  const status = answer.statusCode ?? 0;
  const { error, message } = parseRefusal(body);
  const data = { status, ...(error !== undefined && { error }) };
  const scope = missingScopeOf(answer);
  if (status === 401) {
    return { code: serverErrorCode, message: describeRefusedCredential(access), data };
  }
  if (scope !== undefined) {
    const wantedScopes = joinScopes(access.scope(), scope);
    return {
      code: serverErrorCode,
      message: describeMissingScope({
        scope,
        wanted: wantedScopes,
        loginCommand: access.loginCommand,
      }),
      data: { ...data, error: 'insufficient_scope', scope: wantedScopes },
    };
  }
  const fallbackMessage = isSuccess(answer)
    ? 'The gateway sent something that is no answer to this request.'
    : `The gateway answered with status ${status}.`;
  return { code: serverErrorCode, message: message ?? fallbackMessage, data };
}

/**
 * Turns the error of a request that got no answer into an explanation for the person at the editor.
 */
export function failureOfError(error: unknown, { gateway }: Access): Failure {
  if (error instanceof Refusal) return { code: serverErrorCode, message: error.message };
  return {
    code: serverErrorCode,
    message: `The gateway at ${gateway} did not answer (${reasonOf(error)}). ${adviseOnAddress(gateway)}`,
  };
}

function describeRefusedCredential({ loginCommand }: Access): string {
  return loginCommand === undefined
    ? 'The gateway refuses this agent key: put a valid one into ACTION_GATEWAY_KEY and start again.'
    : `The gateway refuses this login: run "${loginCommand}".`;
}

function describeMissingScope(missing: {
  scope: string;
  wanted: string;
  loginCommand: string | undefined;
}): string {
  const { scope, wanted, loginCommand } = missing;
  return loginCommand === undefined
    ? `This agent key lacks the scope "${scope}".`
    : `This needs the scope "${scope}": run "${loginCommand} --scope ${quoteForShell(wanted)}".`;
}

/** The gateway's own error code and message. The body is a REST error or a JSON-RPC error. */
function parseRefusal(body: string): { error?: string; message?: string } {
  try {
    const { error, message } = JSON.parse(body) as Record<string, unknown>;
    if (typeof error === 'string') {
      return { error, ...(typeof message === 'string' && { message }) };
    }
    const innerMessage = (error as { message?: unknown } | undefined)?.message;
    return typeof innerMessage === 'string' ? { message: innerMessage } : {};
  } catch {
    return {};
  }
}
