import { describe, expect, test } from 'vitest';

import { compileExample, setMember } from './compile-example.testing.ts';
import { createNote } from './example-document.testing.ts';
import { phraseCharactersMax, phrasesMax } from './intents.ts';
import { compileTemplate } from './template.ts';

const compileWith = (intents: unknown) =>
  compileExample((d) => setMember(createNote(d), 'intents', intents));

describe('the intents of an action', () => {
  test('are kept beside the actions, without spaces around them and once each', () => {
    const { template, report } = compileWith(['jot something down', ' jot something down ']);
    const key = Object.keys(template?.intents ?? {})[0] ?? '';

    expect(report.errors).toEqual([]);
    expect(template?.intents).toEqual({ [key]: ['jot something down'] });
    expect(template?.actions[key]).not.toHaveProperty('intents');
  });

  test('are absent when a template declares none', () => {
    expect(compileExample().template).not.toHaveProperty('intents');
  });

  test('are stored by the name of the tool for an MCP server', () => {
    const tools = { add_note: { intents: ['jot something down'] } };
    const document = {
      openapi: '3.1.0',
      info: { title: 'Notes', key: 'notes' },
      runtime: 'mcp',
      mcp: { url: 'https://mcp.example.com/mcp', auth: 'none', tools },
    };
    const options = { tier: 'global', ownerId: null, version: 1 } as const;
    const { template } = compileTemplate(JSON.stringify(document), options);

    expect(template?.intents).toEqual({ add_note: ['jot something down'] });
  });

  test.for<[what: string, intents: unknown, code: string]>([
    ['text in place of a list', 'jot something down', 'wrong_type'],
    ['a phrase that is no text', [7], 'wrong_type'],
    ['a phrase without words', ['…'], 'wrong_type'],
    ['a phrase that is too long', ['x'.repeat(phraseCharactersMax + 1)], 'out_of_bounds'],
    [
      'too many phrases',
      Array.from({ length: phrasesMax + 1 }, (_, at) => `way ${at}`),
      'out_of_bounds',
    ],
  ])('are refused when they are %s', ([, intents, code]) => {
    const { report } = compileWith(intents);
    expect(report.errors.map((error) => error.code)).toEqual([code]);
  });
});
