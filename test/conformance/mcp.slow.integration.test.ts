import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createEvent } from '#events';
import { createStage } from '../../gateway/neighbours.testing.ts';
import { createAgentPrincipal } from '../../gateway/principals.testing.ts';
import { startBearerProxy } from './mcp/bearer-proxy.ts';
import { createFixtureServer } from './mcp/fixture-server.ts';

const suiteMs = 110_000;

describe('the gateway as the server under test in the MCP conformance suite', () => {
  const running = new AsyncDisposableStack();
  let url: string;

  beforeAll(async () => {
    const stage = running.use(await createStage());
    const claims = {
      ...createAgentPrincipal(),
      credential: { ...createAgentPrincipal().credential, clientId: 'conformance' },
    };
    const changeTools = async () => {
      const event = createEvent({
        type: 'mcp_connection.changed',
        orgId: claims.orgId,
        audience: [claims.identityId],
        data: { agent_id: claims.identityId, client_id: 'conformance' },
        audit: null,
      });
      stage.buses.auth.nats.publish(`evt.auth.${event.type}`, JSON.stringify(event));
      await stage.buses.auth.nats.flush();
    };
    const gateway = running.use(
      await stage.gateway(
        { RATE_IDENTITY_PER_MINUTE: '0', RATE_USER_PER_MINUTE: '0' },
        { createMcpServer: ({ isStateless }) => createFixtureServer({ isStateless, changeTools }) },
      ),
    );
    const proxy = running.use(await startBearerProxy(gateway.url, stage.tokenFor(claims)));
    url = `${proxy.url}/mcp`;
  });
  afterAll(() => running.disposeAsync());

  test.for([
    ['every requirement of MCP version 2025-11-25', ['--requirements', '2025-11-25']],
    [
      'every scenario of MCP version 2025-06-18',
      ['--suite', 'all', '--spec-version', '2025-06-18'],
    ],
    ['every requirement of MCP version 2026-07-28', ['--requirements', '2026-07-28']],
    // Scenarios about features that the specification does not require yet.
    ...[
      'http-header-validation',
      'http-custom-header-server-validation',
      'json-schema-2020-12',
    ].map(
      (name) =>
        [`the scenario ${name}`, ['--scenario', name, '--spec-version', '2026-07-28']] as const,
    ),
  ] as const)('passes %s', { timeout: suiteMs }, async ([, selection]) => {
    const output = await runSuite(url, selection);

    expect(output).toMatch(/\b0 failed\b/);
  });
});

/** Resolves with the suite's output. If a scenario failed, rejects with the output instead. */
async function runSuite(url: string, selection: readonly string[]): Promise<string> {
  const resultsFolder = await mkdtemp(join(tmpdir(), 'aag-conformance-'));
  const program = join('node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
  const givenArguments = ['server', '--url', url, '-o', resultsFolder, ...selection];
  try {
    return await new Promise((resolve, reject) => {
      execFile(process.execPath, [program, ...givenArguments], (failure, stdout, stderr) => {
        const output = `${stdout}\n${stderr}`;
        if (failure === null) resolve(output);
        else reject(new Error(output, { cause: failure }));
      });
    });
  } finally {
    await rm(resultsFolder, { recursive: true, force: true });
  }
}
