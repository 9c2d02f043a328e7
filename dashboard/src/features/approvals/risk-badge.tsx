import type { ApprovalResponse } from '#contracts/http/approvals';
import { Icon } from '../../ui/icon.tsx';
import { riskWords } from './approval-view.ts';

type Risk = ApprovalResponse['risk'];

const levelStyles = {
  low: { badge: 'bg-low-soft text-low', band: 'border-t-low', icon: 'eye' },
  med: { badge: 'bg-medium-soft text-medium', band: 'border-t-medium-band', icon: 'pencil' },
  high: { badge: 'bg-high-soft text-high', band: 'border-t-high', icon: 'trash' },
} as const;

/** The class that gives the band along the top of a card the colour of the risk. */
export function riskBandClassOf(risk: Risk): string {
  return levelStyles[risk].band;
}

export function RiskBadge(props: { risk: Risk; isShort?: boolean }) {
  return (
    <span
      class={`inline-flex items-center gap-1.5 rounded-full px-2.5 py-0.5 text-sm font-semibold whitespace-nowrap ${levelStyles[props.risk].badge}`}
    >
      <Icon name={levelStyles[props.risk].icon} class="size-4 shrink-0" />
      {riskWords[props.risk].level}
      {props.isShort === true ? '' : ` · ${riskWords[props.risk].does}`}
    </span>
  );
}
