import { expect, test } from 'vitest';

import { doesPreferHtml } from './accepts.ts';

test.for([
  'text/html',
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8',
  'text/html, */*; q=0.01',
  'TEXT/HTML;charset=utf-8;Q=0.9',
  'application/json;q=0.5, text/html;q=0.9',
  'text/html;q=0.001',
  ',, text/html ,',
])('a browser in which a person opens an address prefers HTML: %j', (accept) => {
  expect(doesPreferHtml(accept)).toBe(true);
});

test.for([
  undefined,
  '',
  '*/*',
  'text/*',
  'application/json',
  'application/json, text/plain, */*',
  'application/json, text/html',
  'text/html, application/json',
  'text/html;q=0.5, application/json',
  'text/html;q=0',
  'text/html;q=0.000',
  'text/html;q=2',
  'text/html;q=-1',
  'text/html;q=x',
  'text/html;q=',
  'text/htmlx',
  'application/xml;profile="text/html"',
  'text/event-stream',
  '\0',
])('a program does not prefer HTML: %j', (accept) => {
  expect(doesPreferHtml(accept)).toBe(false);
});
