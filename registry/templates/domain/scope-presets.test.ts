import { describe, expect, test } from 'vitest';

import type { AuthMethod, CompiledTemplate } from '#contracts/template';
import { compileFile } from '../../../test/catalogue/template-files.ts';
import { buildScopePresets, scopesOfActions } from './scope-presets.ts';

const compileBuiltIn = (key: string) => compileFile(`${key}.yaml`);

function methodOf({ auth }: CompiledTemplate, scheme: string) {
  const method = auth.find((each) => each.scheme === scheme);
  if (method?.type !== 'oauth2') throw new Error(`no OAuth scheme ${scheme}`);
  return method satisfies AuthMethod;
}

describe('the preselected scopes', () => {
  test('are the fewest scopes for reads and for all actions, given which scopes imply others', () => {
    const gmail = compileBuiltIn('gmail');
    const toGoogleScopes = (names: string[]) =>
      names.map((name) => `https://www.googleapis.com/auth/gmail.${name}`);
    const presets = buildScopePresets(gmail, methodOf(gmail, 'oauth'));

    expect(presets.read_only).toEqual(toGoogleScopes(['readonly']));
    expect(presets.read_and_change).toEqual(toGoogleScopes(['modify']));
    expect(scopesOfActions(gmail, methodOf(gmail, 'oauth'))['send_message']).toEqual(
      toGoogleScopes(['send']),
    );
  });

  test('are those of the chosen security scheme: a bot has other scopes than a person', () => {
    const slack = compileBuiltIn('slack');
    const scopesNeededBy = (scheme: string) => scopesOfActions(slack, methodOf(slack, scheme));

    expect(scopesNeededBy('user')['create_channel']).toEqual(['channels:write']);
    expect(scopesNeededBy('bot')['create_channel']).toEqual(['channels:manage']);
    expect(scopesNeededBy('user')['search_messages']).toEqual(['search:read']);
    expect(scopesNeededBy('bot')).not.toHaveProperty('search_messages');
  });

  test('are all scopes of the scheme when no action states what it needs', () => {
    const gmail = compileBuiltIn('gmail');
    const actionsWithoutSecurity = Object.values(gmail.actions).map(
      ({ security: _, ...action }) => [action.key, { ...action, minimumScopes: null }],
    );
    const template = {
      ...gmail,
      actions: Object.fromEntries(actionsWithoutSecurity),
    } as CompiledTemplate;
    const method = methodOf(gmail, 'oauth');
    expect(buildScopePresets(template, method)).toEqual({
      read_only: method.scopes,
      read_and_change: method.scopes,
    });
  });
});
