import type { DerivedKey, SuggestedTier } from '#contracts/permit';
import { wholeAction } from '#permission-key';

const tiersMax = 4;
const sentenceCharactersMax = 500;
const argumentCharactersMax = 120;

interface Step {
  readonly key: string;
  readonly words: string;
}

/**
 * The ladder that is offered for remembering, from exact to broad. All uncovered keys broaden
 * together; a key that cannot be broader stays as it is
 * (docs/reference/approvals.md#suggested-tiers).
 */
export function suggestTiers(uncovered: readonly DerivedKey[]): SuggestedTier[] {
  const ladders = uncovered.map(ladderOf);
  const height = Math.max(...ladders.map((ladder) => ladder.length));
  const tiers: SuggestedTier[] = [];
  for (let step = 0; step < height && tiers.length < tiersMax; step += 1) {
    const chosen = ladders.flatMap((ladder) => ladder[Math.min(step, ladder.length - 1)] ?? []);
    const keys = [...new Set(chosen.map(({ key }) => key))];
    if (tiers.at(-1)?.keys.join('\n') === keys.join('\n')) continue;
    tiers.push({ keys, description: sentence(chosen.map(({ words }) => words)) });
  }
  return tiers;
}

function ladderOf(key: DerivedKey): Step[] {
  if (key.service === 'http') return httpLadder(key);
  if (key.service === 'secret') return [{ key: key.key, words: withCredential('secret', key) }];
  if (key.service === 'connection') {
    return [{ key: key.key, words: withCredential('connection', key) }];
  }
  return actionLadder(key);
}

function actionLadder({ key, service, action, arg }: DerivedKey): Step[] {
  const anyAction = { key: `${service}:*:*`, words: `any action of ${service}` };
  if (arg === wholeAction) return [{ key, words: `${action} of ${service}` }, anyAction];
  return [
    { key, words: `${action} of ${service} for ${shown(arg)} only` },
    { key: `${service}:${action}:*`, words: `${action} of ${service} for anything` },
    anyAction,
  ];
}

function httpLadder({ key, action, arg }: DerivedKey): Step[] {
  const slash = arg.indexOf('/');
  const host = slash < 0 ? arg : arg.slice(0, slash);
  return [
    { key, words: `${action} requests to ${shown(arg)} only (any query, headers and body)` },
    { key: `http:${action}:${host}/**`, words: `${action} requests to anything on ${host}` },
    { key: `http:ANY:${host}/**`, words: `requests of any method to anything on ${host}` },
  ];
}

function withCredential(what: string, { action, arg }: DerivedKey): string {
  return `the ${what} ${action} sent to ${shown(arg)}`;
}

function sentence(words: readonly string[]): string {
  const text = `Allow ${words.join(', with ')}.`;
  return text.length > sentenceCharactersMax
    ? `${text.slice(0, sentenceCharactersMax - 2)}….`
    : text;
}

function shown(arg: string): string {
  return arg.length > argumentCharactersMax ? `${arg.slice(0, argumentCharactersMax)}…` : arg;
}
