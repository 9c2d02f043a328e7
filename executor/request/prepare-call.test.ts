import { expect, test } from 'vitest';

import { deadlineIn } from '#bus';
import type { ActionCall, HttpCall } from '#contracts/call';
import { digestOf } from '#signing';
import { actionOf, templateOf } from './domain/action.testing.ts';
import { prepareCall } from './prepare-call.ts';
import type { PermitOrGap } from './permit.ts';

const base = 'https://api.example.com/v1';
const content = 'https://api.example.com/content';
const template = templateOf([
  actionOf({ key: 'list', path: '/files', redact: ['params.page'] }),
  actionOf({
    key: 'find',
    path: '/files',
    server: { url: content, basePath: '/content' },
    redact: ['params.q'],
  }),
]);
template.server = { url: base, variables: [], baseUrlAllowed: true };

const service = {
  service: 'acme',
  serviceId: 'a',
  template: { key: 'acme', tier: 'global', ownerId: null, version: 1 },
} as const;
const find: ActionCall = {
  kind: 'action',
  service: 'acme',
  action: 'find',
  params: {},
  filter: null,
};

function prepare(call: ActionCall | HttpCall, permit: Partial<PermitOrGap>) {
  const signed = { callDigest: digestOf(call), hosts: ['api.example.com'], keys: [], ...permit };
  return prepareCall(
    { getTemplate: async () => template, bodyBytesMax: 1_000 },
    { permit: signed as unknown as PermitOrGap, call },
    deadlineIn(5_000),
  );
}
const findAt = (baseUrl: string) =>
  prepare(find, { target: { ...service, kind: 'action', action: 'find', baseUrl } });

test('an action with its own server is sent there, or to the path of that server below a given base URL', async () => {
  expect((await findAt(content)).request.url).toBe(`${content}/files`);
  expect((await findAt(`${base}/content`)).request.url).toBe(`${base}/content/files`);
});

test('an action with its own server is never sent to the base URL of the service', async () => {
  await expect(findAt(base)).rejects.toMatchObject({ code: 'unauthenticated' });
  await expect(findAt('https://api.example.com')).rejects.toMatchObject({
    code: 'unauthenticated',
  });
});

test('a call by method and path is redacted like the operation at its URL', async () => {
  const call = (target: string): HttpCall => ({
    kind: 'http',
    service: 'acme',
    method: 'GET',
    target,
    query: {},
    headers: {},
    body: null,
    secrets: [],
    filter: null,
  });
  const preparedAt = (baseUrl: string, path: string) =>
    prepare(call(path), {
      target: { ...service, kind: 'verb', baseUrl },
      keys: [`http:GET:api.example.com${new URL(baseUrl).pathname}${path}`],
    });

  expect((await preparedAt(base, '/files')).action?.redact).toEqual(['params.page']);
  const given = 'https://api.example.com/own';
  expect((await preparedAt(given, '/content/files')).action?.redact).toEqual(['params.q']);
});
