import { expect, test } from 'vitest';

import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { compileExample } from '../../compiler/domain/compile-example.testing.ts';
import { differenceBetween } from './difference.ts';

/** The example template with this scope on its one action that takes parameters. */
function templateWith(scopeParam: CompiledAction['scopeParam']): CompiledTemplate {
  const { template } = compileExample();
  if (template === undefined) throw new Error('the example does not compile');
  const [key = '', action] = Object.entries(template.actions)[0] ?? [];
  return { ...template, actions: { [key]: { ...(action as CompiledAction), scopeParam } } };
}

const pair: CompiledAction['scopeParam'] = [
  { params: ['fields.project.key'], label: 'project' },
  { params: ['to[]', 'cc[]'] },
] as never;

test.each([
  ['repository', pair, { from: ['repository'], to: ['project', 'to[], cc[]'] }],
  [null, 'repository', { from: [], to: ['repository'] }],
  ['repository', null, { from: ['repository'], to: [] }],
] as const)('the difference from the scope %j to %j names the positions: %j', (from, to, scope) => {
  const { actions } = differenceBetween(templateWith(from), templateWith(to));
  expect(actions.changed).toMatchObject([{ parts: ['permission'], scope }]);
});

test('the difference of templates with equal scopes names no positions', () => {
  expect(differenceBetween(templateWith(pair), templateWith(pair)).actions.changed).toEqual([]);
});
