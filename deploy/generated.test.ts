import { readFile } from 'node:fs/promises';

import { describe, expect, test } from 'vitest';

import { permissionsOf } from '#bus';
import { components } from '#contracts/vocabulary';
import { renderCatalogue } from './catalogue.ts';
import { renderEnvExample, renderNatsConf } from './generated.ts';

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');

describe('generated files', () => {
  test.for<[path: string, render: () => string]>([
    ['deploy/nats.conf', renderNatsConf],
    ['.env.example', renderEnvExample],
    ['docs/services.md', renderCatalogue],
  ])('%s is up to date (npm run generate)', async ([path, render]) => {
    expect(await read(path)).toBe(render());
  });
});

describe('NATS permissions', () => {
  test('nobody holds the JetStream API as a whole, or everything', () => {
    for (const component of components) {
      const { publish, subscribe } = permissionsOf(component);
      for (const subject of [...publish, ...subscribe]) {
        expect(['>', '$JS.>', '$JS.API.>', '_INBOX.>', 'rpc.>', 'evt.>']).not.toContain(subject);
      }
      expect(publish.filter((subject) => /^(evt|aud)\./.test(subject))).toEqual([
        `evt.${component}.>`,
        `aud.${component}.>`,
      ]);
    }
  });

  test('only policy and approvals reach what executes and previews, as the contracts say', () => {
    const mayCall = (subject: string) =>
      components.filter((component) => permissionsOf(component).publish.includes(subject));

    expect(mayCall('rpc.executor.v1.execute')).toEqual(['gateway']);
    expect(mayCall('rpc.executor.v1.executeFrozen')).toEqual(['approvals']);
    expect(mayCall('rpc.policy.v1.permitReplay')).toEqual(['approvals']);
    expect(mayCall('rpc.auth.v1.authenticate')).toEqual(['gateway']);
  });
});
