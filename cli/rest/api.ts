import type { ErrorEnvelope } from '#contracts/http/errors';
import { readAnswerBody } from '../answer-body.ts';
import { accessWithKey, accessWithLogin } from '../credential/access.ts';
import type { Access } from '../credential/access.ts';
import type { ActsAs } from '../credential/oauth.ts';
import { adviseOnAddress } from '../address.ts';
import { exitCodes } from '../exit-codes.ts';
import { Refusal, misuse, reasonOf } from '../refusal.ts';
import {
  defaultProfile,
  profilePathOf,
  readAgentKeySetting,
  readGatewayUrlSetting,
  readProfileSetting,
} from '../settings.ts';
import type { Environment } from '../settings.ts';
import { spellCommand } from '../words.ts';
import type { SpellCommand } from '../words.ts';
import { GatewayRefusal } from './gateway-refusal.ts';
import { isNotSent, lostAnswer } from './lost-answer.ts';
import type { SentRequest } from './lost-answer.ts';

/** The gateway answers every request within this time. */
const timeoutMs = 150_000;
const answerBytesMax = 64 * 1_024 * 1_024;
const pageSizeMax = 100;
/** A gateway may send pages that are not full, but a list has an end. */
const pagesMax = 100;

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestParts {
  readonly query?: Query;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The gateway's REST API, used with the credential of one person or agent. */
export interface Api {
  /** The gateway's base URL. */
  readonly gateway: string;
  /** A name of the credential for a person: `the profile "default"`, `the agent key`. */
  readonly credential: string;
  /** Whether the credential is that of a person or of an agent, which may not decide its own calls. */
  readonly actsAs: ActsAs;
  /**
   * Spells a command for a person to copy. It uses the same gateway and credential, by the options
   * `--profile` and `--url` that this command was given.
   */
  readonly spellCommand: SpellCommand;
  /**
   * Sends one request. The caller chooses the type of the answer, which is not checked: the
   * contract of the route guarantees it.
   *
   * @throws Refusal for every answer that is an error, and when no answer arrives.
   */
  readonly request: <T>(method: Method, path: `/v1/${string}`, parts?: RequestParts) => Promise<T>;
  /**
   * Returns the first entries of a list, at most `limit`. It requests further pages by
   * `next_cursor`.
   */
  readonly list: <T>(path: `/v1/${string}`, query: Query, limit: number) => Promise<T[]>;
  /** Opens a stream. It throws the same errors as `request`. The caller reads the body. */
  readonly open: (
    path: `/v1/${string}`,
    parts: RequestParts & { readonly method?: Method; readonly signal: AbortSignal },
  ) => Promise<Response>;
}

/**
 * Creates the API with the credential that the options and the environment choose. With `--profile`
 * that is the login of the profile. Otherwise it is the agent key if there is one, and else the
 * login of the profile that the environment names, or of the profile "default".
 *
 * @throws Refusal if there is no login, or if the environment has a profile and a key without a URL.
 */
export async function openApi(
  options: { readonly url?: string; readonly profile?: string },
  environment: Environment,
): Promise<Api> {
  const givenOptions = { '--profile': options.profile, '--url': options.url };
  const spell: SpellCommand = (...words) => spellCommand(words, givenOptions);
  const url = readGatewayUrlSetting(options.url, environment);
  const key = options.profile === undefined ? readAgentKeySetting(environment) : undefined;
  if (key !== undefined && url === undefined && environment['ACTION_GATEWAY_PROFILE']) {
    throw misuse(
      'ACTION_GATEWAY_PROFILE names no gateway for the agent key: set ACTION_GATEWAY_URL, or unset ACTION_GATEWAY_PROFILE or the key.',
    );
  }
  if (key !== undefined) {
    const access = accessWithKey(key, url);
    return createApi(access, {
      credential: 'the agent key',
      actsAs: 'agent',
      spellCommand: spell,
    });
  }
  const profile = readProfileSetting(options.profile, environment);
  const loginCommand = spellCommand(['login'], {
    '--url': url,
    '--profile': profile === defaultProfile ? undefined : profile,
  });
  const access = await accessWithLogin(profilePathOf(profile, environment), {
    gateway: url,
    loginCommand,
    actsAs: 'user',
  });
  return createApi(access, {
    credential: `the profile "${profile}"`,
    actsAs: 'user',
    spellCommand: spell,
  });
}

function createApi(
  access: Access,
  holder: Pick<Api, 'credential' | 'actsAs' | 'spellCommand'>,
): Api {
  const open: Api['open'] = async (path, parts) => {
    const send = (token: string) => sendRequest(access.gateway, path, { ...parts, token });
    const token = access.token();
    let answer = await send(token);
    if (answer.status === 401) {
      const renewedToken = await access.renewToken(token);
      if (renewedToken !== undefined) {
        await answer.body?.cancel();
        answer = await send(renewedToken);
      }
    }
    if (answer.ok) return answer;
    throw refusalOfAnswer(answer, await readText(answer, parts), { access, parts });
  };
  const request: Api['request'] = async <T>(
    method: Method,
    path: `/v1/${string}`,
    parts: RequestParts = {},
  ) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const sentParts = { ...parts, method };
    const answer = await open(path, { ...sentParts, signal });
    const text = await readText(answer, sentParts);
    const body = answer.status === 204 ? undefined : parseJson(text);
    const isAnswer = answer.status === 204 || (typeof body === 'object' && body !== null);
    if (!isAnswer) throw refusalOfAnswer(answer, text, { access, parts: sentParts });
    return body as T; // the form of an answer is the one of the route's contract
  };
  return {
    gateway: access.gateway,
    ...holder,
    open,
    request,
    list: async <T>(path: `/v1/${string}`, query: Query, limit: number) => {
      const items: T[] = [];
      let cursor: string | undefined;
      for (let pages = 0; pages < pagesMax; pages += 1) {
        const pageLimit = Math.min(pageSizeMax, limit - items.length);
        const page: { items: T[]; next_cursor: string | null } = await request('GET', path, {
          query: { ...query, limit: pageLimit, cursor },
        });
        items.push(...page.items.slice(0, pageLimit));
        const { next_cursor: nextCursor } = page;
        if (nextCursor === null || items.length >= limit) return items;
        if (nextCursor === cursor) break;
        cursor = nextCursor;
      }
      throw new Refusal('The list of the gateway does not end: check the address, or update it.');
    },
  };
}

async function sendRequest(
  gateway: string,
  path: string,
  parts: RequestParts & { token: string; method?: Method; signal: AbortSignal },
): Promise<Response> {
  const { query = {}, body, headers = {}, token, method = 'GET', signal } = parts;
  const url = new URL(`${gateway}${path}`);
  // The URL parser removes the path segments "." and "..", so the request would go to another
  // route.
  if (!url.href.endsWith(path)) throw misuse('"." and ".." are no ids.');
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const init: RequestInit = {
    method,
    redirect: 'manual',
    signal,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
      authorization: `Bearer ${token}`,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  try {
    return await fetch(url, init);
  } catch (error) {
    const problem = `The gateway at ${gateway} did not answer (${reasonOf(error)}).`;
    throw isNotSent(error)
      ? new Refusal(`${problem} ${adviseOnAddress(gateway)}`, {
          cause: error,
          exitCode: exitCodes.unreachable,
        })
      : lostAnswer(problem, parts, error);
  }
}

/** @throws Refusal if the answer is too long, or if the connection breaks off. */
async function readText(answer: Response, request: SentRequest): Promise<string> {
  try {
    return await readAnswerBody(answer, answerBytesMax);
  } catch (error) {
    throw lostAnswer(`The gateway's answer broke off (${reasonOf(error)}).`, request, error);
  }
}

function refusalOfAnswer(
  answer: Response,
  text: string,
  { access: { loginCommand }, parts }: { access: Access; parts: SentRequest },
): Refusal {
  const envelope = parseJson(text) as Partial<ErrorEnvelope> | undefined;
  if (answer.status === 401) {
    const message =
      loginCommand === undefined
        ? 'The gateway refuses this agent key: put a valid one into ACTION_GATEWAY_KEY.'
        : `The gateway refuses this login: run "${loginCommand}".`;
    return new Refusal(message, { exitCode: exitCodes.notSignedIn });
  }
  if (typeof envelope?.error === 'string' && typeof envelope.message === 'string') {
    return new GatewayRefusal(envelope as ErrorEnvelope);
  }
  const problem = `The answer with status ${answer.status} is not one of a gateway: check the address.`;
  // A proxy before the gateway may send such an answer after the gateway has got the request.
  return answer.status >= 500 ? lostAnswer(problem, parts) : new Refusal(problem);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
