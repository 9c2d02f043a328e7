import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'vitest';

import { endProcessesOf, processesOf, startProgram } from '../../support/program.ts';

export interface TemporaryDir extends AsyncDisposable {
  readonly path: string;
}

export async function createTemporaryDir(): Promise<TemporaryDir> {
  const path = await mkdtemp(join(tmpdir(), 'aag-start-'));
  return {
    path,
    async [Symbol.asyncDispose]() {
      await endProcessesOf(path);
      await rm(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export type WrongSetting = [setting: string, value: string, told: RegExp];

export const wrongValues: WrongSetting[] = [
  ['PORT', 'eighty', /whole number/],
  ['HOST', '999.1.1.1', /host name or an address/],
  ['BASE_URL', 'gateway.example.com', /http or https URL/],
  ['LOG_LEVEL', 'loud', /debug/],
  ['RATE_IDENTITY_PER_MINUTE', '-1', /whole number/],
  ['EGRESS_PROXY', 'socks://proxy', /http/],
  ['EGRESS_CA_FILE', '/no/such/file.pem', /a file that can be read/],
  ['SERVERS_CA_FILE', '/no/such/file.pem', /a file that can be read/],
  ['PERMIT_KEY', 'not-a-key', /256 random bits/],
  ['DATABASE_URL', 'mysql://db', /postgres:\/\//],
  ['NATS_URL', 'http://nats', /nats:\/\//],
];
export const unknownNames: WrongSetting[] = [
  ['EGRES_ALLOW', '127.0.0.1:1', /Did you mean EGRESS_ALLOW\?/],
  ['LOG_LEVLE', 'info', /Did you mean LOG_LEVEL\?/],
  ['RATE_PUBLIC_PER_HOUR', '5', /not a setting/],
];

/** Expects the program to end with one line about each of the settings, and about nothing else. */
export async function expectRefusal(
  dataDir: string,
  wrongSettings: readonly WrongSetting[],
): Promise<void> {
  const settings = Object.fromEntries(wrongSettings.map(([setting, value]) => [setting, value]));
  await using program = startProgram(dataDir, { LOG_LEVEL: 'warn', ...settings });

  expect(await program.ended).toEqual({ code: 1, signal: null });
  expect(program.output.stdout).toBe('');
  const lines = program.output.stderr.split(/(?<=\n)/);
  expect(lines).toHaveLength(wrongSettings.length);
  for (const [setting, value, told] of wrongSettings) {
    const line = lines.find((each) => each.startsWith(`${setting} `)) ?? lines[0] ?? '';
    expect(line).toMatch(new RegExp(`\\b${setting}\\b`));
    expect(line).toMatch(told);
    if (setting.endsWith('_KEY')) expect(line).not.toContain(value);
    expectSentence(line);
  }
  expect(await processesOf(dataDir)).toEqual([]);
}

/** The text must be a sentence that a person understands, without a programmer's terms. */
export function expectSentence(text: string): void {
  expect(text).toMatch(/^[\w/][^\n]{20,}\n$/);
  expect(text).not.toMatch(/\bat .*:\d+|node_modules|\.ts:\d/);
}
