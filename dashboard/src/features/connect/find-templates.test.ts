import { expect, test } from 'vitest';

import type { Template } from '#contracts/http/templates';
import { findTemplates } from './find-templates.ts';

const templateOf = (key: string, description: string, fields: Partial<Template> = {}) =>
  ({
    key,
    title: key,
    description,
    category: 'Work',
    status: 'active',
    published_version: 1,
    hosts: [`${key}.example`],
    variables: [],
    ...fields,
  }) as unknown as Template;

const templates = [
  templateOf('mail', 'Letters and drafts'),
  templateOf('slack', 'Messages, channels and reminders of a workspace'),
  templateOf('discord', 'Messages of a chat server'),
  templateOf('slack', 'The same key of a wider tier'),
  templateOf('draft', 'Chat messages', { published_version: null }),
  templateOf('off', 'Chat messages', { status: 'disabled' } as Partial<Template>),
  templateOf('nowhere', 'Chat messages', { hosts: [] }),
];
const keysOf = (text: string) => {
  const { templates: found, hasAllWords } = findTemplates(templates, text);
  return { keys: found.map(({ key }) => key), hasAllWords };
};

test('an empty search finds everything that can be connected, each key once', () => {
  expect(keysOf(' ')).toEqual({ keys: ['mail', 'slack', 'discord'], hasAllWords: true });
});

test('a search finds the templates that contain every word, in any letter case', () => {
  expect(keysOf('MESSAGE remind')).toEqual({ keys: ['slack'], hasAllWords: true });
});

test('if no template has every word, those with the most words come first', () => {
  expect(keysOf('send a chat message')).toEqual({ keys: ['discord', 'slack'], hasAllWords: false });
});

test('short words alone find nothing', () => {
  expect(keysOf('do a zebra')).toEqual({ keys: [], hasAllWords: false });
});

test('a search also finds templates with a synonym, after those with the word itself', () => {
  const found = (text: string) =>
    findTemplates(
      [
        templateOf('slack', 'Messages and channels of a workspace'),
        templateOf('teams', 'Teams, channels and chats'),
        templateOf('gmail', 'Messages and drafts of a mailbox'),
        templateOf('jira', 'Issues and comments'),
        templateOf('zendesk', 'Tickets and views'),
      ],
      text,
    ).templates.map(({ key }) => key);
  expect(found('chat')).toEqual(['teams', 'slack']);
  expect(found('Emails')).toEqual(['gmail']);
  expect(found('emai')).toEqual(['gmail']);
  expect(found('issues')).toEqual(['jira', 'zendesk']);
  expect(found('ticket')).toEqual(['zendesk', 'jira']);
});
