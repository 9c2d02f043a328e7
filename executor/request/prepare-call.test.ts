import { expect, test } from 'vitest';

import { deadlineIn } from '#bus';
import type { ActionCall, HttpCall } from '#contracts/call';
import { digestOf } from '#signing';
import { actionOf, templateOf } from './domain/action.testing.ts';
import { prepareCall } from './prepare-call.ts';
import type { PermitOrGap } from './permit.ts';

const serviceUrl = 'https://api.example.com/v1';
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
template.server = { url: serviceUrl, variables: [], baseUrlAllowed: true };

const service = {
  service: 'acme',
  serviceId: 'a',
  template: { key: 'acme', tier: 'global', ownerId: null, version: 1 },
} as const;
const findCall: ActionCall = {
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
  prepare(findCall, { target: { ...service, kind: 'action', action: 'find', baseUrl } });

test('an action with its own server is sent there, or to the path of that server below a given base URL', async () => {
  expect((await findAt(content)).request.url).toBe(`${content}/files`);
  expect((await findAt(`${serviceUrl}/content`)).request.url).toBe(`${serviceUrl}/content/files`);
});

test('an action with its own server is never sent to the base URL of the service', async () => {
  await expect(findAt(serviceUrl)).rejects.toMatchObject({ code: 'unauthenticated' });
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

  expect((await preparedAt(serviceUrl, '/files')).action?.redact).toEqual(['params.page']);
  const givenUrl = 'https://api.example.com/own';
  expect((await preparedAt(givenUrl, '/content/files')).action?.redact).toEqual(['params.q']);
});
