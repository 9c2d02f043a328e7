import { useQuery } from '@tanstack/solid-query';

import type { TemplateDetail } from '#contracts/http/templates';
import { connectionsQuery, oauthAppQuery, secretsQuery } from './connect.queries.ts';
import { waysOf } from './connect-view.ts';

/** Loads the credentials that the person already has, and the app for the template's provider. */
export function useOwned(props: { readonly template: TemplateDetail }) {
  const provider = () =>
    waysOf(props.template).find(({ account }) => account !== null)?.account?.provider;
  const secrets = useQuery(() => secretsQuery());
  const connections = useQuery(() => connectionsQuery());
  const app = useQuery(() => ({
    ...oauthAppQuery(provider() ?? ''),
    enabled: provider() !== undefined,
  }));
  return {
    data: () => ({
      secrets: secrets.data ?? [],
      connections: connections.data ?? [],
      app: app.data ?? null,
    }),
    isLoaded: () =>
      secrets.data !== undefined &&
      connections.data !== undefined &&
      (provider() === undefined || app.data !== undefined),
    failure: () => secrets.error ?? connections.error ?? app.error,
    retry: () => {
      for (const query of [secrets, connections, app]) if (query.isError) void query.refetch();
    },
  };
}
