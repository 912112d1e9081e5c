export function Servers(_props: { readonly rest: string }) {
  return null
}
