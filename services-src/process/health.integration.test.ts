import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { ConfigError } from '#config';
import { serveHealth } from './health.ts';

test('a start fails with a readable message when HEALTH_PORT is in use', async () => {
  await using other = createServer();
  await new Promise<void>((resolve) => void other.listen(0, resolve));
  const { port } = other.address() as AddressInfo;

  await expect(serveHealth(port, () => undefined)).rejects.toEqual(
    new ConfigError(`HEALTH_PORT ${port} is taken by another program; choose another.`),
  );
});
