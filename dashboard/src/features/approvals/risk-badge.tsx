import type { ApprovalResponse } from '#contracts/http/approvals';
import { Icon } from '../../ui/icon.tsx';
import { riskWords } from './approval-view.ts';

type Risk = ApprovalResponse['risk'];

const looks = {
  low: { badge: 'bg-low-soft text-low', band: 'border-t-low', icon: 'eye' },
  med: { badge: 'bg-medium-soft text-medium', band: 'border-t-medium-band', icon: 'pencil' },
  high: { badge: 'bg-high-soft text-high', band: 'border-t-high', icon: 'trash' },
} as const;

/** The colour of a risk along the top of what has it. */
export function riskBand(risk: Risk): string {
  return looks[risk].band;
}

export function RiskBadge(props: { risk: Risk; short?: boolean }) {
  return (
    <span
      class={`inline-flex items-center gap-1.5 rounded-full px-2.5 py-0.5 text-sm font-semibold whitespace-nowrap ${looks[props.risk].badge}`}
    >
      <Icon name={looks[props.risk].icon} class="size-4 shrink-0" />
      {riskWords[props.risk].level}
      {props.short === true ? '' : ` · ${riskWords[props.risk].does}`}
    </span>
  );
}
