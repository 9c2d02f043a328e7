import type { ErrorEnvelope } from '#contracts/http/errors';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { Refusal } from '../refusal.ts';
import { spellCommand, spellLineEnds } from '../words.ts';
import type { SpellCommand } from '../words.ts';
import { sayInWordsOf } from './error-words.ts';
import type { WordedRow } from './error-words.ts';

interface TypedCommand {
  readonly row: WordedRow;
  readonly spellCommand: SpellCommand;
}

/** An error that the gateway has answered (docs/reference/errors.md#codes). */
export class GatewayRefusal extends Refusal {
  override readonly name = 'GatewayRefusal';
  override readonly envelope: ErrorEnvelope;

  /** @param typed The command that the person has typed. Without it, the text is as the gateway says it. */
  constructor(envelope: ErrorEnvelope, typed?: TypedCommand) {
    super(describe(envelope, typed), {
      // The gateway does not know whether a change of its own data was stored.
      exitCode: envelope['lost'] === true ? exitCodes.unknown : exitCodeOf(envelope.error),
    });
    this.envelope = envelope;
  }
}

/** Throws the error again. If the gateway has refused, the text names the options of the command. */
export function refuseInWordsOf(typed: TypedCommand, error: unknown): never {
  throw error instanceof GatewayRefusal ? new GatewayRefusal(error.envelope, typed) : error;
}

const deniedCodes: readonly string[] = [
  'forbidden',
  'not_in_your_chain',
  'exceeds_authority',
  'self_approval_disabled',
  'insufficient_scope',
  'risk_exceeded',
  'identity_archived',
];

/** The exit code for one of the gateway's error codes. */
function exitCodeOf(code: ErrorEnvelope['error']): ExitCode {
  if (code === 'unauthenticated') return exitCodes.notSignedIn;
  if (code === 'unavailable') return exitCodes.unreachable;
  if (code === 'outcome_unknown') return exitCodes.unknown;
  return deniedCodes.includes(code) ? exitCodes.denied : exitCodes.failed;
}

/**
 * The lines of the text: the message, what to do next, and the id by which an operator finds the
 * request.
 */
function describe(envelope: ErrorEnvelope, typed: TypedCommand | undefined): string {
  const said = typed === undefined ? envelope : sayInWordsOf(typed.row, envelope);
  const { message, next, request_id: requestId, ...details } = said;
  const { auth_url: authUrl, issues } = details;
  return [
    message,
    ...describeIssues(issues, message),
    ...(typeof authUrl === 'string' && !message.includes(authUrl) ? [`Open: ${authUrl}`] : []),
    ...(next?.say === undefined ? [] : [next.say]),
    ...(next === undefined ? [] : [`Next: ${describeNext(next, typed)}`]),
    `Error ${details.error}, request ${requestId}`,
  ]
    .map(spellLineEnds)
    .join('\n');
}

function describeNext(
  { method, path, body }: NonNullable<ErrorEnvelope['next']>,
  typed: TypedCommand | undefined,
): string {
  const url = URL.parse(path, 'http://gateway');
  if (method === 'GET' && url?.pathname === '/v1/search') {
    const words = wordsOfSearch(url.searchParams);
    return typed === undefined ? spellCommand(words) : typed.spellCommand(...words);
  }
  return [method, path, ...(body === undefined ? [] : [JSON.stringify(body)])].join(' ');
}

/**
 * The words of the command that runs a search. All other next steps are meant for programs, and are shown as
 * requests.
 */
function wordsOfSearch(query: URLSearchParams): string[] {
  const options = [...query].flatMap(([name, value]) => {
    if (name === 'q') return [];
    return value === 'true' ? [`--${name}`] : [`--${name}`, value];
  });
  const words = query.get('q');
  return ['search', ...(words === null ? [] : [words]), ...options];
}

interface Issue {
  readonly path?: unknown;
  readonly message?: unknown;
  readonly expected?: unknown;
}

/** The wrong fields and what is expected, without what the message already says. */
function describeIssues(issues: unknown, message: string): string[] {
  if (!Array.isArray(issues)) return [];
  return issues.slice(0, 20).flatMap((issue: Issue | null) => {
    const { path, message: problem, expected } = issue ?? {};
    if (typeof path !== 'string' || typeof problem !== 'string') return [];
    const isNew = typeof expected === 'string' && !`${message} ${problem}`.includes(expected);
    if (isNew) return [`  ${path}: ${problem} (${expected})`];
    return message.includes(`${path} ${problem}`) ? [] : [`  ${path}: ${problem}`];
  });
}
