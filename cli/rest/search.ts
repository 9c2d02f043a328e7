import type { z } from 'zod';

import type { searchAnswer } from '#contracts/http/search';
import type { RestCall } from './command.ts';
import type { Answer } from './output.ts';

interface SearchOptions {
  readonly service?: string;
  readonly action?: string;
  readonly limit?: string;
  readonly catalog?: true;
}

/** `action-gateway search [words...]`: finds actions, and services that can still be connected. */
export async function searchActions({
  api,
  args,
  options,
}: RestCall<SearchOptions>): Promise<Answer> {
  const query = { ...options, json: undefined, profile: undefined, url: undefined };
  const searchResult = await api.request<z.infer<typeof searchAnswer>>('GET', '/v1/search', {
    query: { q: args.join(' '), ...query },
  });
  return {
    data: searchResult,
    show: {
      header: ['SERVICE', 'ACTION', 'RISK', 'APPROVAL', 'DESCRIPTION'],
      table: searchResult.items.map((row) => [
        row.service ?? `(${row.template})`,
        row.action,
        row.risk,
        row.disabled === undefined ? (row.requires_approval ? 'needed' : '') : 'off',
        row.description,
      ]),
    },
    note:
      searchResult.items.length === 0 && options.catalog === undefined
        ? 'Nothing is found. --catalog also searches what is not connected.'
        : undefined,
  };
}
