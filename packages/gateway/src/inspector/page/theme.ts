import { effect, signal } from '@preact/signals'

const KEPT = 'toolcrib-theme'
const system = matchMedia('(prefers-color-scheme: dark)')

export const theme = signal<'light' | 'dark'>('light')

/** Follows the system until the user chooses a theme. */
export function startTheme(): void {
  const kept = localStorage.getItem(KEPT)
  theme.value = kept === 'light' || kept === 'dark' ? kept : systemTheme()
  system.addEventListener('change', () => {
    if (localStorage.getItem(KEPT) === null) theme.value = systemTheme()
  })
  effect(() => {
    document.documentElement.dataset.theme = theme.value
  })
}

export function toggleTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark'
  localStorage.setItem(KEPT, theme.value)
}

function systemTheme(): 'light' | 'dark' {
  return system.matches ? 'dark' : 'light'
}
