import { busContracts } from '../contracts/all.ts';
import { subjectOf } from '../contracts/define.ts';
import type { Contract } from '../contracts/define.ts';
import {
  durableConsumers,
  eventsStream,
  plainPublications,
  plainSubscriptions,
} from '../contracts/events.ts';
import { filesPublications } from '../contracts/files.ts';
import { components } from '../contracts/vocabulary.ts';
import type { Component } from '../contracts/vocabulary.ts';

export interface NatsPermissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/**
 * What one component may say and hear, from the contracts alone: the endpoints that name it as
 * a caller, its own subjects, its own events, its own durable consumer, its own inbox, its part of
 * the object store.
 */
export function permissionsOf(component: Component): NatsPermissions {
  const contracts: readonly Contract[] = Object.values(busContracts);
  const calls = contracts.flatMap((contract) =>
    Object.entries(contract.endpoints)
      .filter(([, endpoint]) => endpoint.callers.includes(component))
      .map(([name]) => subjectOf(contract, name)),
  );
  const durables = Object.entries(durableConsumers)
    .filter(([, { owner }]) => owner === component)
    .flatMap(([durable]) => [
      `$JS.API.CONSUMER.INFO.${eventsStream}.${durable}`,
      `$JS.API.CONSUMER.MSG.NEXT.${eventsStream}.${durable}`,
      `$JS.ACK.${eventsStream}.${durable}.>`,
    ]);
  const plain: Partial<Record<Component, readonly string[]>> = plainPublications;
  const files: Partial<Record<Component, readonly string[]>> = filesPublications;
  return {
    publish: [
      ...calls,
      `evt.${component}.>`,
      `aud.${component}.>`,
      ...durables,
      ...(plain[component] ?? []),
      ...(files[component] ?? []),
    ],
    subscribe: [`rpc.${component}.>`, `_INBOX_${component}.>`, ...plainSubscriptions[component]],
  };
}

/**
 * The `accounts` block of nats.conf. Users stand only inside it, so there is no implicit global
 * account (CVE-2023-47090); only `provision`, used at migration, may manage streams.
 * `passwordOf` gives passwords as nats.conf writes them: quoted, or as `$VARIABLE`. An unquoted
 * one is read as a number or a date when it happens to begin like one.
 */
export function natsAccounts(passwordOf: (user: Component | 'provision') => string): string {
  const list = (subjects: readonly string[]) =>
    subjects.map((subject) => JSON.stringify(subject)).join(', ');
  const users = components.map((component) => {
    const { publish, subscribe } = permissionsOf(component);
    return `      {
        user: ${component}, password: ${passwordOf(component)}
        permissions: {
          publish: { allow: [${list(publish)}] }
          subscribe: { allow: [${list(subscribe)}] }
          allow_responses: { max: 1, expires: "2m" }
        }
      }`;
  });
  return `accounts {
  gateway {
    jetstream: enabled
    users: [
${users.join('\n')}
      {
        user: provision, password: ${passwordOf('provision')}
        permissions: {
          publish: { allow: ["$JS.API.>"] }
          subscribe: { allow: ["_INBOX_provision.>"] }
        }
      }
    ]
  }
}
`;
}
