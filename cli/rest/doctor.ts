import type { Me } from '#contracts/http/identities';
import type { status } from '#contracts/http/status';
import type { z } from 'zod';

import { adviseOnAddress, parseGatewayUrl } from '../address.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { Refusal, reasonOf } from '../refusal.ts';
import { readGatewayUrlSetting } from '../settings.ts';
import type { Environment } from '../settings.ts';
import { readVersion } from '../version.ts';
import { openApi } from './api.ts';
import type { Api } from './api.ts';
import type { Answer } from './output.ts';

/** The result of one check. If the check failed, the message says what to do. */
interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly message: string;
  readonly exitCode?: ExitCode;
}

const timeoutMs = 10_000;
const answerBytesMax = 65_536;
/**
 * If the clocks differ by more than this, times in lists and the gateway's logins are misleading.
 */
const skewSecondsMax = 60;

/**
 * `action-gateway doctor`: checks everything that commands need, from the network to the login. It
 * exits with the exit code of the first problem.
 */
export async function examine(
  options: { readonly url?: string; readonly profile?: string },
  environment: Environment,
): Promise<Answer> {
  const findings: Finding[] = [
    { check: 'program', ok: true, message: `${readVersion()}, on Node ${process.versions.node}` },
  ];
  let api: Api | undefined;
  let refusal: Refusal | undefined;
  try {
    api = await openApi(options, environment);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refusal = error;
  }
  const gateway = api?.gateway ?? parseGatewayUrl(readGatewayUrlSetting(options.url, environment));
  const gatewayFindings = await checkGateway(gateway);
  findings.push(...gatewayFindings);
  if (refusal !== undefined) {
    findings.push(problem('login', refusal));
  } else if (api !== undefined && gatewayFindings[0]?.ok === true) {
    findings.push(...(await checkLogin(api)));
  }
  const problems = findings.filter(({ ok }) => !ok);
  return {
    data: {
      ok: problems.length === 0,
      gateway,
      checks: findings.map(({ check, ok, message }) => ({ check, ok, message })),
    },
    show: {
      facts: findings.map(({ check, ok, message }) => [
        check,
        `${ok ? 'ok' : 'NOT OK'}, ${message}`,
      ]),
    },
    note: problems.length === 0 ? undefined : 'Mend the first problem first, then run this again.',
    exitCode: problems[0]?.exitCode ?? exitCodes.done,
  };
}

function problem(check: string, { message, exitCode }: Pick<Refusal, 'message' | 'exitCode'>) {
  return { check, ok: false, message: message.replaceAll('\n', ' '), exitCode };
}

/**
 * Checks whether a gateway is at the address, whether its clock agrees, and whether it accepts
 * calls.
 */
async function checkGateway(gateway: string): Promise<Finding[]> {
  let live: Probe;
  try {
    live = await probe(`${gateway}/health/live`);
  } catch (error) {
    const message = `${gateway} does not answer (${reasonOf(error)}). ${adviseOnAddress(gateway)} "npm start" in a clone starts one on this machine; --url or ACTION_GATEWAY_URL names another.`;
    return [problem('gateway', { message, exitCode: exitCodes.unreachable })];
  }
  if (live.body.status !== 'ok') {
    const message = `${gateway} answers, but is no gateway. Correct the address (--url, ACTION_GATEWAY_URL).`;
    return [problem('gateway', { message, exitCode: exitCodes.failed })];
  }
  return [
    { check: 'gateway', ok: true, message: `${gateway} answers` },
    ...checkClock(live.headers.get('date')),
    await checkReadiness(gateway),
  ];
}

function checkClock(date: string | null): Finding[] {
  const gatewayTimeMs = Date.parse(date ?? '');
  if (Number.isNaN(gatewayTimeMs)) return [];
  const seconds = Math.round((Date.now() - gatewayTimeMs) / 1_000);
  if (Math.abs(seconds) <= skewSecondsMax) {
    return [{ check: 'clock', ok: true, message: 'the same as the one of the gateway' }];
  }
  const message = `This machine is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the gateway. Set the clock of the one that is wrong.`;
  return [problem('clock', { message, exitCode: exitCodes.failed })];
}

async function checkReadiness(gateway: string): Promise<Finding> {
  const { body } = await probe(`${gateway}/health/ready`).catch(() => ({ body: {} as ProbeBody }));
  if (body.status === 'ok') return { check: 'readiness', ok: true, message: 'takes calls' };
  const failing = body.failing?.join(', ') ?? 'no answer';
  const message = `The gateway does not take calls yet (${failing}). Wait a minute; then look at the log of the gateway.`;
  return problem('readiness', { message, exitCode: exitCodes.unreachable });
}

/** Checks whether the credential is valid, and which components the gateway reports as failing. */
async function checkLogin(api: Api): Promise<Finding[]> {
  try {
    const me = await api.request<Me>('GET', '/v1/identities/me');
    const name = `${me.path.join('/')} (${me.role ?? me.kind}), by ${api.credential}`;
    const login = { check: 'login', ok: true, message: name };
    const { components } = await api.request<z.infer<typeof status>>('GET', '/v1/status');
    const states = Object.entries(components).map(([part, state]) => `${part} ${state.status}`);
    const failing = states.filter((state) => !state.endsWith(' ok'));
    if (failing.length === 0) {
      return [login, { check: 'components', ok: true, message: 'all answer' }];
    }
    const message = `${failing.join(', ')}. Calls may fail: look at the logs of these components.`;
    return [login, problem('components', { message, exitCode: exitCodes.failed })];
  } catch (error) {
    if (error instanceof Refusal) return [problem('login', error)];
    throw error;
  }
}

interface ProbeBody {
  readonly status?: string;
  readonly failing?: readonly string[];
}

interface Probe {
  readonly headers: Headers;
  readonly body: ProbeBody;
}

/**
 * Requests an address that needs no credential. An answer that is not a JSON object counts as an
 * empty object.
 */
async function probe(url: string): Promise<Probe> {
  const signal = AbortSignal.timeout(timeoutMs);
  const { headers, body } = await fetch(url, { redirect: 'manual', signal });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > answerBytesMax) break;
  }
  return { headers, body: parseObject(text) };
}

function parseObject(text: string): ProbeBody {
  try {
    return Object(JSON.parse(text)) as ProbeBody;
  } catch {
    return {};
  }
}
