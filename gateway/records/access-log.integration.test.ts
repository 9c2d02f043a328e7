import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { programEnv } from '../../test/support/program-env.ts';
import { currentRequestId } from '../../services-src/telemetry/request-id.ts';
import { pollUntil } from '../../test/support/world.ts';
import { sendRequest, createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';

interface Gateway extends AsyncDisposable {
  readonly url: string;
  readonly lines: () => Record<string, unknown>[];
  /** Returns the log line of the request whose answer has this id. */
  lineOf(requestId: string | null): Promise<Record<string, unknown>>;
}

let stage: Stage;
let gateway: Gateway;

beforeAll(async () => {
  stage = await createStage();
  gateway = await startGatewayProcess({});
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

/** Runs the gateway in a separate process, as operators do, and reads its log. */
async function startGatewayProcess(settings: Record<string, string>): Promise<Gateway> {
  const child = spawn(process.execPath, ['gateway/main.ts'], {
    env: { ...programEnv, ...stage.environment.variables, LOG_LEVEL: 'info', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const readLogLines = () =>
    output
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  await pollUntil(
    () => readLogLines().some(({ msg }) => msg === 'started'),
    'the start of the gateway',
  );
  const lines = () => readLogLines().filter(({ msg }) => msg === 'request');
  return {
    url: String(readLogLines().find(({ msg }) => msg === 'started')?.['url']),
    lines,
    async lineOf(requestId) {
      const linesOfRequest = () => lines().filter((line) => line['requestId'] === requestId);
      await pollUntil(() => linesOfRequest().length > 0, `a line about ${requestId}`);
      expect(linesOfRequest()).toHaveLength(1);
      return linesOfRequest()[0] ?? {};
    },
    async [Symbol.asyncDispose]() {
      const untilExit = once(child, 'exit');
      child.kill('SIGTERM');
      await untilExit;
    },
  };
}

const callBody = { service: 'github', action: 'list_issues', params: { secret: 'CANARY-param' } };

test('components log a request under the same id that the client gets', async () => {
  const loggedIds: (string | undefined)[] = [];
  stage.standIns.policy.decide = async () => {
    loggedIds.push(currentRequestId());
    throw new AppError('unknown_action', 'No such action.');
  };
  const token = stage.tokenFor();

  const reply = await sendRequest(gateway.url, '/v1/actions/call', { token, body: callBody });

  expect(loggedIds).toEqual([reply.headers.get('x-request-id')]);
});

describe('the line of a request in the log', () => {
  test('has the route, the outcome and the caller, and no content of the request', async () => {
    stage.standIns.policy.decide = async () => {
      throw new AppError('unknown_action', 'No such action.');
    };
    const token = stage.tokenFor();

    const reply = await sendRequest(gateway.url, '/v1/actions/call', { token, body: callBody });

    const line = await gateway.lineOf(reply.headers.get('x-request-id'));
    expect(line).toEqual({
      level: 'info',
      time: expect.any(String),
      component: 'gateway',
      msg: 'request',
      requestId: reply.body['request_id'],
      method: 'POST',
      route: '/v1/actions/call',
      status: 404,
      ms: expect.any(Number),
      bytes: expect.any(Number),
      org: stage.claimsByToken.get(token)?.orgId,
      identity: stage.claimsByToken.get(token)?.identityId,
      outcome: 'unknown_action',
    });
    expect(line['bytes']).toBeGreaterThan(JSON.stringify(reply.body).length);
    expect(JSON.stringify(line)).not.toMatch(/CANARY|token-|list_issues/);
  });

  test('has the outcome of a call that was answered with status 200', async () => {
    stage.standIns.policy.decide = async () => ({
      outcome: 'denied',
      reason: 'A rule says so.',
      service: 'github',
      template: null,
      action: 'list_issues',
      permissionKeys: [],
      risk: 'read',
      nonRead: false,
      description: 'List issues',
    });
    const token = stage.tokenFor();

    const restAnswer = await sendRequest(gateway.url, '/v1/actions/call', {
      token,
      body: callBody,
    });
    expect(await gateway.lineOf(restAnswer.headers.get('x-request-id'))).toMatchObject({
      status: 200,
      outcome: 'denied',
    });

    stage.standIns.policy.decide = async () => {
      throw new AppError('unknown_action', 'No such action.');
    };
    const mcp = await sendRequest(gateway.url, '/mcp', {
      token,
      headers: { accept: 'application/json, text/event-stream' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'service_call', arguments: callBody },
      },
    });
    expect(await gateway.lineOf(mcp.headers.get('x-request-id'))).toMatchObject({
      route: '/mcp',
      status: 200,
      outcome: 'unknown_action',
    });
  });

  test.for<[path: string, route: string | null, status: number]>([
    ['/v1/approvals/CANARY-id', '/v1/approvals/:id', 401],
    ['/v1/provide/CANARY-token?q=CANARY-query', '/v1/provide/:token', 401],
    ['/sign-in?token=CANARY-link', '/sign-in', 200],
    ['/CANARY-path?access_token=CANARY-query', null, 404],
    ['/v1/actions/%0a{"level":"error","msg":"CANARY-forged"}', null, 404],
    ['/v1/%zz-CANARY', null, 400],
  ])('does not contain the requested address: %s', async ([path, route, status]) => {
    const rawAnswer = await sendRaw(
      gateway.url,
      `GET ${path} HTTP/1.1\r\nX-Request-Id: CANARY-request\r\nAccept: text/html\r\n`,
    );

    const id = /^x-request-id: (\S+)/im.exec(rawAnswer)?.[1] ?? null;
    const line = await gateway.lineOf(id);
    expect(line).toMatchObject({ route, status, org: null, identity: null });
    expect(JSON.stringify(gateway.lines())).not.toMatch(/CANARY/);
  });

  test('is written even if the client disconnects before the answer', async () => {
    const linesBefore = gateway.lines().length;
    let isAsked = false;
    const client = new AbortController();
    const answer = Promise.withResolvers<never>();
    stage.standIns.policy.decide = () => {
      isAsked = true;
      return answer.promise;
    };
    const headers = {
      authorization: `Bearer ${stage.tokenFor()}`,
      'content-type': 'application/json',
    };
    const body = JSON.stringify(callBody);
    const { signal } = client;
    const pendingFetch = fetch(new URL('/v1/actions/call', gateway.url), {
      method: 'POST',
      headers,
      body,
      signal,
    });
    await pollUntil(() => isAsked, 'the call at policy');
    client.abort();
    await expect(pendingFetch).rejects.toThrow('abort');

    await pollUntil(() => gateway.lines().length > linesBefore, 'the line');
    answer.reject(new AppError('unknown_action', 'No such action.'));
    expect(gateway.lines().at(-1)).toMatchObject({ status: null, outcome: 'client_gone' });
  });

  test('is not written for a health check', async () => {
    await fetch(new URL('/health/live', gateway.url));
    await fetch(new URL('/health/ready', gateway.url));
    const answerAfterwards = await sendRequest(gateway.url, '/v1/openapi.json');
    await gateway.lineOf(answerAfterwards.headers.get('x-request-id'));

    expect(JSON.stringify(gateway.lines())).not.toContain('/health');
  });
});

test.for<[LOG_REQUESTS: string, routes: (string | null)[]]>([
  ['errors', [null]],
  ['off', []],
])(
  'with LOG_REQUESTS=%s only requests to these routes are logged: %j',
  async ([LOG_REQUESTS, routes]) => {
    await using gatewayProcess = await startGatewayProcess({ LOG_REQUESTS });
    await sendRequest(gatewayProcess.url, '/v1/openapi.json');
    await fetch(new URL('/nothing', gatewayProcess.url)).then((reply) => reply.text());
    await sendRequest(gatewayProcess.url, '/v1/openapi.json');
    await pollUntil(() => gatewayProcess.lines().length >= routes.length, 'the lines');

    expect(gatewayProcess.lines().map(({ route }) => route)).toEqual(routes);
  },
);

/** Sends a request head unchanged; `fetch` would normalise its path. */
async function sendRaw(url: string, head: string): Promise<string> {
  const { host, hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let rawAnswer = '';
  socket.on('data', (chunk: Buffer) => (rawAnswer += chunk.toString()));
  socket.write(`${head}Host: ${host}\r\nConnection: close\r\n\r\n`);
  await once(socket, 'close');
  return rawAnswer;
}
