import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

const suiteProgram = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
const clientProgram = fileURLToPath(new URL('shim-client.ts', import.meta.url));

/**
 * Scenarios about extensions that the gateway does not support: grants without a person, and tokens
 * that are bound to keys.
 */
const extensionScenarios = [
  'auth/client-credentials-jwt',
  'auth/client-credentials-basic',
  'auth/enterprise-managed-authorization',
  'auth/dpop',
  'auth/dpop-nonce',
  'auth/wif-jwt-bearer',
];
/**
 * Scenarios in which a tool asks the client to repeat arguments in headers. They do not apply: the
 * gateway's tools do not ask for headers, and the shim forwards messages without reading the
 * declarations of tools.
 */
const headerScenarios = ['http-custom-headers', 'http-invalid-tool-headers'];

interface Outcome {
  readonly passed: string[];
  readonly failed: string[];
  readonly warnings: number;
}

/** Runs the conformance suite with the shim as the client, for one revision of MCP. */
async function runSuite(revision: string): Promise<Outcome> {
  const command = `${process.execPath} ${clientProgram}`;
  const args = [
    suiteProgram,
    'client',
    '--command',
    command,
    '--requirements',
    revision,
    '--timeout',
    '120000', // The time limit is long, because all scenarios run at once.
  ];
  const output = await new Promise<string>((resolve) => {
    const options = { cwd: tmpdir(), maxBuffer: 2 ** 26 };
    // The exit code also counts failed scenarios that do not apply here. So the test ignores the
    // exit code and reads each scenario's verdict.
    execFile(process.execPath, args, options, (_error, stdout) => resolve(stdout));
  });
  const summary = output.slice(output.indexOf('SUITE SUMMARY'));
  const findScenariosMarked = (mark: string) =>
    [...summary.matchAll(new RegExp(`^${mark} (\\S+): `, 'gm'))].map(([, name = '']) => name);
  const warnings = /^Total: .* (\d+) warnings$/m.exec(summary)?.[1];
  return {
    passed: findScenariosMarked('✓'),
    failed: findScenariosMarked('✗'),
    warnings: Number(warnings),
  };
}

test(
  'the shim passes every required scenario of MCP version 2025-11-25 without a warning',
  { timeout: 240_000 },
  async () => {
    const { passed, failed, warnings } = await runSuite('2025-11-25');
    expect(failed.toSorted()).toEqual(extensionScenarios.toSorted());
    expect(passed.filter((name) => name.startsWith('auth/'))).toHaveLength(14);
    expect(passed).toHaveLength(19);
    expect(warnings).toBe(0);
  },
);

test(
  'the shim passes every applicable scenario of MCP version 2026-07-28 without a warning',
  { timeout: 240_000 },
  async () => {
    const { passed, failed, warnings } = await runSuite('2026-07-28');
    expect(failed.toSorted()).toEqual([...extensionScenarios, ...headerScenarios].toSorted());
    expect(passed.filter((name) => name.startsWith('auth/iss-'))).toHaveLength(6);
    expect(passed).toHaveLength(31);
    expect(warnings).toBe(0);
  },
);
