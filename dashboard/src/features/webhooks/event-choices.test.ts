import { expect, test } from 'vitest';

import { createWebhookBody } from '#contracts/http/webhooks';
import { publicEventTypes } from '#contracts/event-types';
import { describeEvents, eventChoices } from './event-choices.ts';

test('the choices together cover every event type that a webhook can receive', () => {
  const events = eventChoices.flatMap((choice) => choice.events);
  const url = 'https://hooks.example.com/';
  expect(createWebhookBody.safeParse({ url, events }).success).toBe(true);
  const isChosen = (type: string) =>
    events.some((event) => event === type || event === `${type.split('.')[0]}.*`);
  expect(publicEventTypes.filter((type) => !isChosen(type))).toEqual([]);
});

test('a webhook is described by the choices that it receives completely, and then by its other event types', () => {
  expect(describeEvents(['execution.finished', 'request.*', 'approval.*'])).toEqual([
    'Approvals',
    'Results of approved calls',
    'request.*',
  ]);
});
