import { parse } from 'yaml';
import { z } from 'zod';

import { readTemplateFile, templateFiles } from '../catalogue/template-files.ts';
import type { TokenKind } from './facts.ts';

const oauthScheme = z.looseObject({
  type: z.literal('oauth2'),
  provider: z.string(),
  /**
   * The documentation lists the scopes of apps that people install together with the scopes of
   * users. So `app` counts as `user` here.
   */
  acts_as: z
    .enum(['user', 'bot', 'app'])
    .default('user')
    .transform((kind): TokenKind => (kind === 'app' ? 'user' : kind)),
  flows: z.object({
    authorizationCode: z.object({
      authorizationUrl: z.string(),
      tokenUrl: z.string(),
      scopes: z.record(z.string(), z.string()),
    }),
  }),
});
const security = z.array(z.record(z.string(), z.array(z.string())));
const operation = z.looseObject({
  operationId: z.string(),
  risk: z.string().optional(),
  security: security.optional(),
});
const template = z.looseObject({
  info: z.looseObject({ key: z.string() }),
  servers: z
    .array(
      z.looseObject({
        url: z.string(),
        /**
         * The schemes whose services use the server. If absent, the services of all schemes use it.
         */
        for: z.array(z.string()).optional(),
        variables: z
          .record(z.string(), z.looseObject({ default: z.string().optional() }))
          .default({}),
      }),
    )
    .min(1),
  security: security.default([]),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.looseObject({ securitySchemes: z.record(z.string(), z.unknown()) }),
});

/** A security scheme of a built-in template with which people connect an account at a provider. */
export interface AccountScheme {
  /** The template's key. */
  readonly key: string;
  /** The scheme's name in the template. */
  readonly name: string;
  readonly scheme: z.output<typeof oauthScheme>;
  readonly flow: z.output<typeof oauthScheme>['flows']['authorizationCode'];
  /** The names of the server variables that have no default. */
  readonly variables: readonly string[];
  readonly actions: readonly SchemeAction[];
}

export interface SchemeAction {
  readonly action: string;
  readonly isRead: boolean;
  /** Whether the action needs no other credential than a connection of this scheme. */
  readonly isUsable: boolean;
  readonly scopes: readonly string[];
}

/** Every security scheme of the built-in templates that has an authorization code flow. */
export const accountSchemes: readonly AccountScheme[] = templateFiles
  .map(readTemplateFile)
  .filter((text) => text.includes('authorizationCode'))
  .flatMap((text) => {
    const parsedTemplate = template.parse(parse(text));
    const operations = Object.values(parsedTemplate.paths)
      .flatMap((path) => Object.values(path))
      .flatMap((each) => operation.safeParse(each).data ?? []);
    return Object.entries(parsedTemplate.components.securitySchemes).flatMap(([name, each]) => {
      const scheme = oauthScheme.safeParse(each).data;
      if (scheme === undefined) return [];
      const actions = operations.map(
        ({ operationId, risk, security: actionSecurity = parsedTemplate.security }) => ({
          action: operationId,
          isRead: risk === 'read',
          isUsable: actionSecurity.some((alternative) => Object.keys(alternative).join() === name),
          scopes: actionSecurity.flatMap((alternative) => alternative[name] ?? []),
        }),
      );
      const server = parsedTemplate.servers.find((each) => each.for?.includes(name) ?? true);
      const variables = Object.entries(server?.variables ?? {}).flatMap(
        ([variable, { default: defaultValue }]) => (defaultValue === undefined ? [variable] : []),
      );
      const { authorizationCode: flow } = scheme.flows;
      return { key: parsedTemplate.info.key, name, scheme, flow, variables, actions };
    });
  });
