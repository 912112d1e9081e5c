/** Drawn on a grid of 16, with one stroke. */
const PATHS = {
  overview: 'M2.5 9.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 2.5h4v4h-4zM9.5 9.5h4v4h-4z',
  tools:
    'M10.2 2.6a3.4 3.4 0 0 0-4 4.5L2.6 10.7a1.9 1.9 0 0 0 2.7 2.7L8.9 9.8a3.4 3.4 0 0 0 4.5-4l-2.2 2.2-2.3-.9-.9-2.3z',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4l3.1 3.1',
  play: 'M4.5 2.8v10.4l8.5-5.2z',
  sessions: 'M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z',
  servers: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  shield: 'M8 2l5 2v3.8c0 3-2.1 5.1-5 6.2-2.9-1.1-5-3.2-5-6.2V4z',
  pulse: 'M1.5 8h3l2-4.5 3 9 2-4.5h3',
  clients: 'M2.5 3h11v7.5h-11zM6 13.5h4M8 10.5v3',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9',
  moon: 'M13 9.5A5.6 5.6 0 0 1 6.5 3a5.6 5.6 0 1 0 6.5 6.5z',
  help: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM6.2 6.3a1.8 1.8 0 1 1 2.6 1.7c-.5.3-.8.6-.8 1.2M8 11.3h.01',
  copy: 'M5.5 5.5h7.5v8h-7.5zM3 10.5v-8h7.5',
  check: 'M3 8.5l3.2 3.2L13 4.8',
  next: 'M6 3.5l4.5 4.5L6 12.5',
  leave: 'M9.5 2.5h-7v11h7M6 8h7.5M10.5 5l3 3-3 3',
  close: 'M4 4l8 8M12 4l-8 8',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.4"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
