<?php

/** A postal address; what the visitor left empty is null. */

declare(strict_types=1);

namespace Portcullis;

final class Address
{
    private function __construct(
        public readonly ?string $formatted,
        public readonly ?string $streetAddress,
        public readonly ?string $locality,
        public readonly ?string $region,
        public readonly ?string $postalCode,
        /** ISO 3166-1, two letters */
        public readonly ?string $country,
    ) {
    }

    /** @param array<array-key, mixed> $fields */
    public static function fromArray(array $fields): self
    {
        $text = static fn (string $name): ?string =>
            is_string($fields[$name] ?? null) && $fields[$name] !== '' ? $fields[$name] : null;
        return new self(
            $text('formatted'),
            $text('street_address'),
            $text('locality'),
            $text('region'),
            $text('postal_code'),
            $text('country'),
        );
    }
}
