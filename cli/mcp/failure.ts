import type { IncomingMessage } from 'node:http';

import type { Access } from '../credential/access.ts';
import { joinScopes } from '../credential/oauth.ts';
import { Refusal, reasonOf } from '../refusal.ts';
import { shellWord } from '../words.ts';
import { missingScope } from './transport.ts';
import type { FrameId } from './frame.ts';
import { isGood } from './http.ts';

/** JSON-RPC's code for "the server, for reasons of its own". */
const serverError = -32_000;

/** Why a frame has no answer: for its sender as a JSON-RPC error, and for a person as a sentence. */
export interface Failure {
  readonly code: number;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export const notAFrame: Failure = {
  code: -32_700,
  message: 'This line is not a JSON-RPC message.',
};
export const tooLong: Failure = {
  code: -32_600,
  message: 'This message is larger than 16 MiB and was not sent.',
};
export const noAnswer: Failure = {
  code: serverError,
  message:
    'The gateway ended its answer without a result. The call may have been made all the same.',
};

export function failureLine(id: FrameId | null, { code, message, data }: Failure): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } });
}

/** What a refusal of the gateway means for the person at the editor. */
export function failureOfAnswer(answer: IncomingMessage, body: string, access: Access): Failure {
  const status = answer.statusCode ?? 0;
  const { error, message } = parseRefusal(body);
  const data = { status, ...(error !== undefined && { error }) };
  const scope = missingScope(answer);
  if (status === 401) {
    return { code: serverError, message: refusedCredential(access), data };
  }
  if (scope !== undefined) {
    const wanted = joinScopes(access.scope(), scope);
    return {
      code: serverError,
      message: missingScopeMessage({ scope, wanted, loginCommand: access.loginCommand }),
      data: { ...data, error: 'insufficient_scope', scope: wanted },
    };
  }
  const otherwise = isGood(answer)
    ? 'The gateway sent something that is no answer to this request.'
    : `The gateway answered with status ${status}.`;
  return { code: serverError, message: message ?? otherwise, data };
}

/** For what never became an answer. */
export function failureOfError(error: unknown, { gateway }: Access): Failure {
  if (error instanceof Refusal) return { code: serverError, message: error.message };
  return {
    code: serverError,
    message: `The gateway at ${gateway} did not answer (${reasonOf(error)}).`,
  };
}

function refusedCredential({ loginCommand }: Access): string {
  return loginCommand === undefined
    ? 'The gateway refuses this agent key: put a valid one into ACTION_GATEWAY_KEY and start again.'
    : `The gateway refuses this login: run "${loginCommand}".`;
}

function missingScopeMessage(missing: {
  scope: string;
  wanted: string;
  loginCommand: string | undefined;
}): string {
  const { scope, wanted, loginCommand } = missing;
  return loginCommand === undefined
    ? `This agent key lacks the scope "${scope}".`
    : `This needs the scope "${scope}": run "${loginCommand} --scope ${shellWord(wanted)}".`;
}

/** The gateway's own sentence, from its REST envelope or from a JSON-RPC error. */
function parseRefusal(body: string): { error?: string; message?: string } {
  try {
    const { error, message } = JSON.parse(body) as Record<string, unknown>;
    if (typeof error === 'string') {
      return { error, ...(typeof message === 'string' && { message }) };
    }
    const inner = (error as { message?: unknown } | undefined)?.message;
    return typeof inner === 'string' ? { message: inner } : {};
  } catch {
    return {};
  }
}
