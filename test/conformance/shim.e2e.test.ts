import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

const suite = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
const client = fileURLToPath(new URL('shim-client.ts', import.meta.url));

/** Grants that have no person in them, and tokens bound to keys: extensions that the gateway lacks. */
const extensions = [
  'auth/client-credentials-jwt',
  'auth/client-credentials-basic',
  'auth/enterprise-managed-authorization',
  'auth/dpop',
  'auth/dpop-nonce',
  'auth/wif-jwt-bearer',
];
/**
 * Headers that repeat arguments as the declarations of tools ask for: the gateway's ask for none,
 * and what forwards frames does not read declarations.
 */
const headersFromDeclarations = ['http-custom-headers', 'http-invalid-tool-headers'];

interface Outcome {
  readonly passed: string[];
  readonly failed: string[];
  readonly warnings: number;
}

/** What the conformance suite says about the shim as client of a revision. */
async function judge(revision: string): Promise<Outcome> {
  const command = `${process.execPath} ${client}`;
  const args = [
    suite,
    'client',
    '--command',
    command,
    '--requirements',
    revision,
    '--timeout',
    '120000', // all scenarios run at once, on machines that do other things too
  ];
  const output = await new Promise<string>((resolve) => {
    const options = { cwd: tmpdir(), maxBuffer: 2 ** 26 };
    // Its exit code counts what does not apply; the verdicts are read instead.
    execFile(process.execPath, args, options, (_error, stdout) => resolve(stdout));
  });
  const summary = output.slice(output.indexOf('SUITE SUMMARY'));
  const named = (mark: string) =>
    [...summary.matchAll(new RegExp(`^${mark} (\\S+): `, 'gm'))].map(([, name = '']) => name);
  const warnings = /^Total: .* (\d+) warnings$/m.exec(summary)?.[1];
  return { passed: named('✓'), failed: named('✗'), warnings: Number(warnings) };
}

test('2025-11-25: every required scenario, without a warning', { timeout: 240_000 }, async () => {
  const { passed, failed, warnings } = await judge('2025-11-25');
  expect(failed.toSorted()).toEqual(extensions.toSorted());
  expect(passed.filter((name) => name.startsWith('auth/'))).toHaveLength(14);
  expect(passed).toHaveLength(19);
  expect(warnings).toBe(0);
});

test(
  '2026-07-28: every scenario that applies, without a warning',
  { timeout: 240_000 },
  async () => {
    const { passed, failed, warnings } = await judge('2026-07-28');
    expect(failed.toSorted()).toEqual([...extensions, ...headersFromDeclarations].toSorted());
    expect(passed.filter((name) => name.startsWith('auth/iss-'))).toHaveLength(6);
    expect(passed).toHaveLength(31);
    expect(warnings).toBe(0);
  },
);
