<?php

/**
 * What the visitor agreed to share. Any field may be null: not asked for, refused, or left empty
 * by the visitor. A value of a type that the service never sends counts as null.
 */

declare(strict_types=1);

namespace Portcullis;

final class Profile
{
    /** @param array<string, mixed> $fields all that came, as it came */
    private function __construct(
        /** Public, stable, random. Know people by this one; an email address can change hands. */
        public readonly ?string $serviceId,
        public readonly ?string $givenName,
        public readonly ?string $familyName,
        public readonly ?string $nickname,
        public readonly ?string $picture,
        public readonly ?string $email,
        public readonly bool $emailVerified,
        public readonly ?string $phoneNumber,
        public readonly bool $phoneNumberVerified,
        public readonly ?Address $address,
        /** YYYY-MM-DD */
        public readonly ?string $birthdate,
        public readonly ?int $age,
        public readonly bool $ageVerified,
        public readonly ?bool $servicePlus,
        /** plus or free */
        public readonly ?string $servicePlan,
        public readonly ?bool $liquidGlass,
        public readonly array $fields,
    ) {
    }

    /** @param array<string, mixed> $fields */
    public static function fromArray(array $fields): self
    {
        $text = static fn (string $name): ?string =>
            is_string($fields[$name] ?? null) && $fields[$name] !== '' ? $fields[$name] : null;
        $flag = static fn (string $name): ?bool => is_bool($fields[$name] ?? null) ? $fields[$name] : null;
        return new self(
            serviceId: $text('service_id'),
            givenName: $text('given_name'),
            familyName: $text('family_name'),
            nickname: $text('nickname'),
            picture: $text('picture'),
            email: $text('email'),
            emailVerified: $flag('email_verified') === true,
            phoneNumber: $text('phone_number'),
            phoneNumberVerified: $flag('phone_number_verified') === true,
            address: is_array($fields['address'] ?? null) ? Address::fromArray($fields['address']) : null,
            birthdate: $text('birthdate'),
            age: is_int($fields['age'] ?? null) ? $fields['age'] : null,
            ageVerified: $flag('age_verified') === true,
            servicePlus: $flag('service_plus'),
            servicePlan: $text('service_plan'),
            liquidGlass: $flag('liquid_glass'),
            fields: $fields,
        );
    }
}
