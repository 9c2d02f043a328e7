import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { ConfigError } from '#config';
import { lastingPort } from '../embedded/index.ts';
import { serveHealth } from './health.ts';

test('/metrics has the metrics when they are exported to Prometheus, and is not found otherwise', async () => {
  const failingChecks = () => [];
  const port = await lastingPort();
  const renderMetrics = async () => 'aag_calls_total 1\n';
  await using _withMetrics = await serveHealth({ port, failingChecks, renderMetrics });
  const otherPort = await lastingPort();
  await using _without = await serveHealth({ port: otherPort, failingChecks });

  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await answer.text()).toBe('aag_calls_total 1\n');
  expect((await fetch(`http://127.0.0.1:${otherPort}/metrics`)).status).toBe(404);
});

test('/metrics answers 500 without the reason when the metrics cannot be collected', async () => {
  const port = await lastingPort();
  const renderMetrics = () => Promise.reject(new Error('CANARY-reason'));
  await using _health = await serveHealth({ port, failingChecks: () => [], renderMetrics });

  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);

  expect(answer.status).toBe(500);
  expect(await answer.json()).toEqual({ error: 'internal' });
});

test('a start fails with a readable message when HEALTH_PORT is in use', async () => {
  await using other = createServer();
  await new Promise<void>((resolve) => void other.listen(0, resolve));
  const { port } = other.address() as AddressInfo;

  await expect(serveHealth({ port, failingChecks: () => undefined })).rejects.toEqual(
    new ConfigError(`HEALTH_PORT ${port} is taken by another program; choose another.`),
  );
});
