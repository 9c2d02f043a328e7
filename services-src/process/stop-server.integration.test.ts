import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { prepareStop } from './stop-server.ts';

async function startServer(pauseMs: number, listener: RequestListener) {
  const server = createServer(listener);
  const stop = prepareStop(server, { pauseMs });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { stop, server, port: (server.address() as AddressInfo).port };
}

const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';
const answerAll: RequestListener = (_request, reply) => void reply.end('done');

/** Everything that arrives until the server ends the connection. */
async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

test('during the pause of a stopping server, requests on new connections are answered with Connection: close', async () => {
  const { stop, port } = await startServer(2_000, answerAll);

  const serverStopped = stop();
  const socket = await openSocket(port);
  socket.write(request);

  expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*Connection: close\r\n[^]*done$/);
  await serverStopped;
  await expect(openSocket(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('a request under way is answered with Connection: close before the server stops', async () => {
  const finishSignal = Promise.withResolvers<void>();
  const { stop, port } = await startServer(0, (_request, reply) => {
    void finishSignal.promise.then(() => reply.end('done'));
  });
  const socket = await openSocket(port);
  socket.write(request);
  const answer = readAll(socket);

  const serverStopped = stop();
  await delay(300);
  finishSignal.resolve();

  expect(await answer).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*Connection: close\r\n/);
  await serverStopped;
});

test('a connection that was opened before the server stopped listening is served even if its request comes later', async () => {
  const { stop, server, port } = await startServer(0, answerAll);
  const socket = await openSocket(port);

  const serverStopped = stop();
  await expect.poll(() => server.listening).toBe(false);
  socket.write(request);

  expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  await serverStopped;
});

test('connections that the kernel accepted before the process took them are served', async () => {
  const { stop, port } = await startServer(0, answerAll);
  const sockets = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  const answers = sockets.map((socket) => {
    socket.write(request);
    return readAll(socket);
  });

  await stop();

  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n/);
});
