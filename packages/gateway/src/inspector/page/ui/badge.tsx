import type { ComponentChildren } from 'preact'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'accent' | 'plain'

export function Badge({
  tone = 'plain',
  children,
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}) {
  return <span class={`badge ${tone}`}>{children}</span>
}

const TOOL_TONES: Readonly<Record<string, Tone>> = {
  visible: 'good',
  active: 'accent',
  deferred: 'plain',
  unavailable: 'warn',
  denied: 'warn',
  quarantined: 'bad',
  unknown: 'bad',
}

/** The state of a tool, as `explain()` returns it. */
export function ToolState({ state }: { readonly state: string }) {
  return <Badge tone={TOOL_TONES[state] ?? 'plain'}>{state}</Badge>
}

const SERVER_TONES: Readonly<Record<string, Tone>> = {
  ready: 'good',
  connecting: 'info',
  failed: 'bad',
  cold: 'plain',
}

const DOTS: Readonly<Record<string, string>> = { ready: 'good', connecting: 'warn', failed: 'bad' }

/** The state of a server, if there is no room for the word. */
export function ServerDot({
  state,
  needs,
}: {
  readonly state: string
  readonly needs?: keyof typeof NEEDS | undefined
}) {
  const word = wordOf(state, needs)
  return (
    <i class={`dot ${isStep(needs) ? 'warn' : (DOTS[state] ?? '')}`} title={word}>
      <span class="hidden">{word}</span>
    </i>
  )
}

const NEEDS = { approval: 'not approved', config: 'bad config', 'sign-in': 'sign in' } as const

export function ServerState({
  state,
  needs,
}: {
  readonly state: string
  readonly needs?: keyof typeof NEEDS | undefined
}) {
  const tone = isStep(needs) ? 'warn' : (SERVER_TONES[state] ?? 'plain')
  return <Badge tone={tone}>{wordOf(state, needs)}</Badge>
}

/** Approval and sign-in need the user; they are not faults. */
function isStep(needs: keyof typeof NEEDS | undefined): boolean {
  return needs === 'approval' || needs === 'sign-in'
}

function wordOf(state: string, needs: keyof typeof NEEDS | undefined): string {
  if (needs !== undefined) return NEEDS[needs]
  return state === 'cold' ? 'asleep' : state
}

/** `mcp__files__read` as `files · read`, with the whole name as a tooltip. */
export function ToolName({ name }: { readonly name: string }) {
  const [, server, own] = /^mcp__(.+?)__(.+)$/s.exec(name) ?? []
  if (server === undefined) return <span class="tool-name">{name}</span>
  return (
    <span class="tool-name" title={name}>
      <span class="from">{server} · </span>
      {own}
    </span>
  )
}
