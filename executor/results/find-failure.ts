import type { CallFailure } from '#contracts/failure';
import type { JsonValue } from '#contracts/vocabulary';
import { describeFailure, failureByStatus } from '../answers/domain/failure.ts';
import type { ShapedAnswer } from '../answers/domain/failure.ts';
import { findProviderWords, toPlainLine } from '../answers/domain/provider-words.ts';
import { isObject } from '../mcp/domain/message.ts';
import type { Deps } from '../deps.ts';
import type { PermitOrGap } from '../request/permit.ts';
import type { PreparedCall } from '../request/prepare-call.ts';
import type { Credential } from '../request/domain/inject.ts';
import type { Answer } from '../sending/sending.ts';
import { lackingConnection } from './domain/lacking-connection.ts';
import { findRefusedSecret } from './domain/refused-secret.ts';
import { findFailureByTemplate, withNothingDone } from './template-failure.ts';

interface AnsweredCall {
  readonly answer: Pick<Answer, 'status'>;
  readonly credentials: readonly Credential[];
}
interface ShapedContent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue;
}

/**
 * The failure of a call, from the answer's status or by the rules of its template; undefined when
 * the call succeeded.
 */
export async function findFailure(
  deps: Pick<Deps, 'jq'>,
  failing: AnsweredCall & {
    readonly prepared: PreparedCall;
    readonly permit: Pick<PermitOrGap, 'userId' | 'identityId'>;
  },
  { jsonText, ...shaped }: ShapedContent & { readonly jsonText: string | undefined },
): Promise<CallFailure | undefined> {
  const { action, template } = failing.prepared;
  const rule = action?.failure ?? template?.failure;
  const answer = toShapedAnswer(failing, shaped);
  const failure = failureByStatus(answer);
  if (failure !== undefined) return withCredential(withNothingDone(rule, failure), failing);
  if (rule === undefined) return undefined;
  const { userId: owner, identityId: identity } = failing.permit;
  const templateFailure = await findFailureByTemplate(deps, {
    rule,
    answer,
    jsonText,
    owner,
    identity,
  });
  return templateFailure && withCredential(templateFailure, failing);
}

/** Adds the credential that the caller can ask a person to fix. */
function withCredential(
  failure: CallFailure,
  {
    credentials,
    prepared: { action, template },
  }: AnsweredCall & { readonly prepared: PreparedCall },
): CallFailure {
  const connectionId = lackingConnection(failure, { credentials, action });
  const secret = findRefusedSecret(failure, { credentials, template });
  return {
    ...failure,
    ...(connectionId === undefined ? {} : { connection_id: connectionId }),
    ...(secret === undefined ? {} : { secret }),
  };
}

/** The failure of a call from the status alone, for calls without a template. */
export function findFailureByStatus(failing: AnsweredCall): CallFailure | undefined {
  return failureByStatus(toShapedAnswer(failing, { headers: {}, body: null }));
}

/** The JSON-RPC code for arguments that the server does not accept (JSON-RPC 2.0 §5.1). */
const invalidParams = -32_602;

/**
 * Finds the failure in the answer of an MCP tool. The server reports it with status 200: by
 * `isError` in the tool's result, or by a protocol error.
 */
export function findToolFailure(
  failing: AnsweredCall,
  shaped: ShapedContent,
): CallFailure | undefined {
  const answer = toShapedAnswer(failing, shaped);
  const failure = failureByStatus(answer);
  if (failure !== undefined || !isObject(shaped.body)) return failure;
  const { error, isError, content, structuredContent } = shaped.body;
  if (isObject(error)) {
    return describeFailure(answer, error['code'] === invalidParams ? 'invalid' : 'failed');
  }
  if (isError !== true) return undefined;
  const words = textOf(content) ?? findProviderWords(structuredContent ?? null, '');
  return describeFailure(answer, 'failed', words ?? 'The tool failed and did not say why.');
}

function textOf(content: JsonValue | undefined): string | undefined {
  const blocks = Array.isArray(content) ? content.filter((block) => isObject(block)) : [];
  const text = blocks.find(({ type }) => type === 'text')?.['text'];
  return typeof text === 'string' ? toPlainLine(text) : undefined;
}

function toShapedAnswer(
  { answer: { status }, credentials }: AnsweredCall,
  shaped: ShapedContent,
): ShapedAnswer {
  const isAwsSigned = credentials.some(({ signer }) => signer !== undefined);
  const hadCredential = credentials.length > 0;
  return { ...shaped, status, hadCredential, isAwsSigned, nowMs: Date.now() };
}
