import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { ConfigError } from '#config';
import { createTestEnvironment } from '../../test/support/environment.ts';
import { connectBus } from './index.ts';
import { isNatsNewEnough } from './nats-version.ts';

const connectAndFail = (url: string): Promise<unknown> =>
  connectBus({ url, name: 'executor' }).then(
    (bus) => bus[Symbol.asyncDispose]().then(() => undefined),
    (error: unknown) => error,
  );

test('the error about a NATS server that is absent or refuses the password names the server and shows no credential', async () => {
  await using environment = await createTestEnvironment();
  const url = new URL(environment.variables['EXECUTOR_NATS_URL'] ?? '');
  url.password = 'CANARY-wrong';
  const connectError = await connectAndFail(url.href);
  expect(connectError).toBeInstanceOf(ConfigError);
  expect(String(connectError)).toMatch(
    /does not let executor in: Authorization Violation\. Start it/,
  );
  expect(String(connectError)).not.toContain('CANARY');

  const { port, close } = await startFakeServer('');
  await close();
  const absenceMessage = String(
    await connectAndFail(`nats://a:CANARY-a@127.0.0.1:${port},nats://b:CANARY-b@127.0.0.1:${port}`),
  );
  expect(absenceMessage).toMatch(/does not let a in: .*or correct NATS_URL\.$/);
  expect(absenceMessage).not.toContain('CANARY');
});

test.each([
  ['nats://u:p@127.0.0.1:1,nats://u:7f3@127.0.0.1:', ''],
  ['nats://u:p@localhost:1, nats://u:p@localhost:', '/'],
  ['nats://localhost:1,localhost:', ''],
])('the client tries each server of %s', async (start, end) => {
  const info = { server_id: 'old', version: '2.9.10', proto: 1, max_payload: 1_048_576 };
  const { port, close } = await startFakeServer(
    `INFO ${JSON.stringify({ ...info, headers: true })}\r\n`,
  );
  expect(String(await connectAndFail(`${start}${port}${end}`))).toContain('is of version 2.9.10');
  await close();
});

test('a NATS server that is too old is refused with an error that names the version needed', async () => {
  const info = {
    server_id: 'old',
    version: '2.9.10',
    proto: 1,
    max_payload: 1_048_576,
    headers: true,
  };
  const { port, close } = await startFakeServer(`INFO ${JSON.stringify(info)}\r\n`);
  expect(String(await connectAndFail(`nats://127.0.0.1:${port}`))).toMatch(
    /is of version 2\.9\.10, which is too old: 2\.10\.27 or newer is needed\.$/,
  );
  await close();
});

test.each([
  ['2.10.27', true],
  ['v2.10.28', true],
  ['2.12.0-beta.1', true],
  ['3.0.0', true],
  ['2.10.26', false],
  ['2.9.99', false],
  ['1.99.99', false],
  ['', false],
])('version %s of NATS is new enough: %s', (version, expected) => {
  expect(isNatsNewEnough(version)).toBe(expected);
});

/** A server that sends the text `greeting` to each client and answers every ping. */
async function startFakeServer(
  greeting: string,
): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      if (chunk.includes('PING')) socket.write('PONG\r\n');
    });
    socket.write(greeting);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}
